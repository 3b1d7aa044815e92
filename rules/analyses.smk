# The rules of all analyses that run a function of the library: tables, figures, pages. What their
# jobs read, write and are repeated for is declared in the analysis's own file (study/rules.py).
for one in [one for each in STUDY.analyses.values() for one in each.made_rules]:

    rule:
        name:
            one.name
        input:
            unpack(settled(one.inputs)),
        output:
            **{name: in_report(files) for name, files in one.output.items()},
        log:
            f"{OWN}/logs/{one.place}.log",
        benchmark:
            f"{OWN}/benchmarks/{one.place}.tsv"
        wildcard_constraints:
            **{name: one_of(values) for name, values in one.values.items()},
        # Before trainings that wait, as the checks of a plan of trainings save their time.
        priority: 1
        conda:
            f"../envs/{one.environment}.yaml"
        threads: one.threads
        resources:
            **REQUESTS.resources(one.name),
        params:
            function=one.function,
            job=one.packed,
            custom_files=one.custom_files or [],
            code=digest("analyse", one.function, *one.code),
        message:
            one.message
        script:
            "../workflow_scripts/analyse.py"


# The rules of stages whose results studies share. Making these again would repeat all that depends
# on them: these rules do not notice edits of the library. Versions are raised by hand when results
# change. The text of a command is read here, and again when a job runs: then the loop is over, and
# `rule` is the name of the job's rule.
COMMANDS = {
    one.name: one for analysis in STUDY.analyses.values() for one in analysis.commands
}


def command_of(rule):
    """Return the command of a rule; the workflow that uses this as a module may add to its name."""
    return COMMANDS[max((name for name in COMMANDS if name in rule), key=len)].command


for one in COMMANDS.values():

    rule:
        name:
            one.name
        input:
            unpack(settled(one.inputs)),
        output:
            **{name: in_report(files) for name, files in one.output.items()},
        log:
            f"{SHARED}/logs/{one.place}.log",
        wildcard_constraints:
            **{name: one_of(values) for name, values in one.values.items()},
        conda:
            f"../envs/{one.environment}.yaml"
        threads: one.threads
        resources:
            **REQUESTS.resources(one.name),
        params:
            **one.params,
        message:
            one.message
        shell:
            f"python -m {command_of(vars().get('rule', one.name))} > {{log:q}} 2>&1"


# One target per analysis, and per stage of one. It lists all files, so that a deleted one is built
# again.
for name, files in [
    (name, files)
    for analysis in STUDY.analyses.values()
    for name, files in {analysis.name: analysis.targets, **analysis.stages}.items()
]:

    rule:
        name:
            name
        input:
            files,
        localrule: True
        message:
            f"All files of {name} are there"
