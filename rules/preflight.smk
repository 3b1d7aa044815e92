# What is checked before the first job: the profile and the names that studies share always; images of
# the user's own, which a dry run can do without; a cluster before jobs are submitted to it.
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry
from snakemake_interface_executor_plugins.settings import ExecMode

from matcheval.execution.cluster.names import check_groups, check_names, check_resources
from matcheval.study.shared_names import check_shared_names, record_shared_names
from matcheval.study.checks import check_own_images


def rule_names():
    """Names of all rules."""
    return [one.name for one in workflow.rules]


def check_profile():
    """Names of rules and resources in the profile and on the command line."""
    settings, names = workflow.resource_settings, rule_names()
    check_names(settings.overwrite_resources, names, "rule", "set-resources")
    check_names(settings.overwrite_threads, names, "rule", "set-threads")
    check_resources(settings.default_resources or {}, "default-resources")
    for given in settings.overwrite_resources.values():
        check_resources(given, "set-resources")


def check_profile_groups():
    """Names of rules and groups in the profile and on the command line; known once jobs start."""
    groups = workflow.group_settings
    check_names(groups.overwrite_groups, rule_names(), "rule", "groups")
    used = groups.overwrite_groups.values()
    check_groups(groups.group_components, used, "group-components")


def comment_of(job):
    """What the executor tells SLURM a job is."""
    from snakemake_executor_plugin_slurm.utils import get_job_wildcards

    wildcards = get_job_wildcards(job)
    return f"rule_{job.name}" + (f"_wildcards_{wildcards}" if wildcards else "")


def check_cluster():
    """Whether this SLURM can run the study as it is about to be asked to."""
    from dataclasses import replace

    from matcheval.execution.cluster import queries as asking

    from matcheval.execution.cluster import folders

    from matcheval.execution.cluster import requests
    from slurm_executor import request_of

    settings = workflow.executor_settings
    jobs = [
        job
        for job in workflow.dag.get_jobs_or_groups()
        if workflow.dag.needrun(job) and not job.is_local
    ]
    wanted = [
        replace(request, qos=request.qos or settings.qos)
        for request in map(request_of, jobs)
    ]
    requests.check_requests(wanted, asking.nodes())
    requests.check_accounts(wanted)
    requests.check_with_scheduler(wanted)
    requests.check_status_command(
        settings.status_command,
        workflow.remote_execution_settings.seconds_between_status_checks,
    )
    folders.check_no_earlier_jobs(map(comment_of, jobs), Path.cwd())
    folders.check_shared(
        Path(SHARED),
        [Path(workflow.main_snakefile).resolve(), Path(sys.executable)],
        {request.partition for request in wanted},
        Path(".snakemake") / "seen-by-nodes.json",
    )


def checked(check):
    """Run a check; bad input ends the run with its message alone."""
    try:
        check()
    except InputError as error:
        raise WorkflowError(str(error)) from None


# The workflow is read once more in every job, where all this is known.
if workflow.exec_mode == ExecMode.DEFAULT:
    checked(check_profile)
    checked(lambda: check_shared_names(STUDY))
    try:
        check_own_images(STUDY)
    except InputError as error:
        logger.warning(f"To be there before this can run: {error}")
    if ExecutorPluginRegistry().is_installed("slurm"):
        from slurm_executor import SlurmExecutor

        ExecutorPluginRegistry().get_plugin("slurm").executor = SlurmExecutor


onstart:
    checked(check_profile_groups)
    checked(lambda: check_own_images(STUDY))
    if workflow.executor_plugin.name == "slurm":
        checked(check_cluster)
    record_shared_names(STUDY)
