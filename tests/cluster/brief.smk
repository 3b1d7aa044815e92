# Brief jobs with the faults that their names say: `--config names=fine,slow`. Those of other names
# wait until there is a file `go`.
COMMANDS = {
    "greedy": "python3 -c 'import time; ballast = b\"1\" * (1500 << 20); time.sleep(5)'",
    "slow": "[ $minutes -gt 1 ] || sleep 600",
    "broken": "false",
    "fine": "true",
}
WAIT = "while [ ! -e go ]; do sleep 0.1; done"
NAMES = config["names"].split(",")


rule all:
    input:
        expand("out/{name}", name=NAMES),
    localrule: True


for one in NAMES:

    rule:
        name:
            one
        output:
            f"out/{one}",
        params:
            name=one,
            command=COMMANDS.get(one, WAIT),
        resources:
            mem_mb=lambda wildcards, attempt: 1000 * attempt,
            runtime=(lambda wildcards, attempt: attempt**6) if one == "slow" else 60,
            slurm_partition=one if one in ("spare", "frail") else "cpu",
        shell:
            "echo {params.name} $SLURM_JOB_ID >> starts; minutes={resources.runtime};"
            " {params.command}; touch {output}"
