# Difficulty: the Gaussian model of image difficulty (Recht et al. 2019, section 5.3).
DIFFICULTY = STUDY.analyses["difficulty"]


rule model_difficulty:
    input:
        unpack(DIFFICULTY.results_of_pair),
    output:
        tables=in_report(DIFFICULTY.result),
        skills=DIFFICULTY.skills.file(),
        plots=in_report(DIFFICULTY.plot),
    log:
        f"{OWN}/logs/model_difficulty/{{pair}}/{{top}}.log",
    conda:
        "../envs/analysis.yaml"
    resources:
        **REQUESTS.resources("model_difficulty"),
    params:
        job=DIFFICULTY.parameters,
        code=digest("model_difficulty"),
    message:
        "Modelling the difficulty of {wildcards.pair}, top {wildcards.top}"
    script:
        "../workflow_scripts/model_difficulty.py"
