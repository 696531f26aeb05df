/** The text of `--help`. Each page fits a screen of 24 lines and 100 columns; a test compares it with the flags. */

const MAIN = `Usage: millrace COMMAND

Enrich and verify files of contacts: as fast as the plan permits, never over it, never paying twice.

  run [JOB]      run a job, or resume it where it stopped
  plan [JOB]     check everything and call nothing: records, lookups, requests, time
  status [JOB]   progress of a running, stopped or finished job
  retry [JOB]    call again only for what failed, and put the results in their places
  init FILE      write a commented job file for an input
  jobs [FOLDER]  the jobs of a folder: state, age, cost
  ledger         answers already paid for: what is there (stats), take some out (purge)
  enrich, verify look people, companies and addresses up one by one
  serve          the data service, on this machine
  import, export its store: load files into it, and write them out again
  suppress, check, keys   remove a person from it for good; its damage; its API keys
  provider       a provider of your own: try its definition (check), begin one (new)
  completion     complete commands and flags in bash, zsh or fish

  --help, --version   --help of each command names its flags, with an example

JOB is a path, or a name under jobs/. Every key of a job has a flag and an environment variable:
docs/configuration.md. Exit codes: docs/exit-codes.md.

Example: millrace run sample`;

const JOB_FLAGS = `  -i, --input FILE   path, glob, folder or -       -o, --output FILE  csv, tsv, jsonl; .gz, .zst; -
  --steps LIST       enrich,verify                 --base-url URL   the data service
  --region NAME      with --service.regions.NAME   --embedded       or one inside the run, to try it
  --plan NAME        growth, scale or enterprise   --rpm N          or requests a minute
  --concurrency N    requests in flight, or auto   --timeout-ms N   longest wait for one answer
  --checkpoint FILE  where progress is kept        --ledger FILE    answers already paid for
  --max-calls N      calls at most; then exit 77   --max-errors N   or 5%; more failed: exit 1
  --limit N          records at most: a pilot`;

const RUN = `Usage: millrace run [JOB] [flags]

Runs a job, or resumes it where it stopped: the same command either way. JOB is a path, or a name
under jobs/; left out, the flags alone are the job.

${JOB_FLAGS}

  --fresh            start over, ledger kept       --date DAY       what {date} stands for
  --scratch DIR      for state that grows          --progress KIND  auto, bar, log or none
  --log-level LEVEL  debug, info, warn, ...        --log-format F   plain, or json for machines
  --shard I/N        one part: docs/shards.md      --monitor PORT   a live page, and /metrics

Every other key of a job is a flag too, by its dotted path: docs/configuration.md.
The API key comes from MILLRACE_API_KEY, or a file that MILLRACE_API_KEY_FILE names.

Example: millrace run --input leads.csv --output enriched.csv --embedded`;

const PLAN = `Usage: millrace plan [JOB] [flags]

Checks the job and its input and calls nothing: records, unique lookups, how many the ledger has,
requests needed, credits, and the time at the plan's rate. It takes all flags of a run:

${JOB_FLAGS}

  --date DAY         what {date} stands for        --json           print JSON
  --shard I/N        what this part would do       --match-rate 60% share of lookups that match

Example: millrace plan sample --plan growth`;

const INIT = `Usage: millrace init INPUT [--to FILE]

Writes a commented job file for an input, with the columns that it finds. An existing file is left
as it is. INPUT is a path, a glob, a folder or an object in S3.

  --to FILE          the job file; default: named after the input, in this folder

Example: millrace init leads.csv`;

const JOBS = `Usage: millrace jobs [FOLDER] [--json]

Lists the jobs whose checkpoints lie in a folder, or up to three folders below it: running, stopped
or finished, when each was active last, its rows and failures, and what it cost. Default: this one.

  --json             print JSON

Example: millrace jobs results`;

const COMPLETION = `Usage: millrace completion bash|zsh|fish

Prints a script that completes commands, flags and their words.

  bash   millrace completion bash > ~/.local/share/bash-completion/completions/millrace
  zsh    millrace completion zsh > a folder of $fpath, as _millrace
  fish   millrace completion fish > ~/.config/fish/completions/millrace.fish

Example: millrace completion bash`;

const STATUS = `Usage: millrace status [JOB] [flags]

Progress of a running, stopped or finished job, from its checkpoint. It takes the flags that the run
was given, so that it finds the same checkpoint; those of the run itself change nothing:

${JOB_FLAGS}

  --date DAY         what {date} stands for        --json           print JSON
  --watch            again and again, until it ends

Example: millrace status sample --json`;

const LEDGER = `Usage: millrace ledger stats [JOB] [flags]
       millrace ledger purge [JOB] [--email ADDRESS] [--older-than AGE] [flags]

Answers already paid for. stats: how many, of which step and kind, of which service, how old, how
many can be used again. purge: removes answers for good; with both filters, what meets both.

  --ledger FILE         the ledger, where no JOB is named; of a job, any of its flags too
  --email ADDRESS       what was asked for by it, and every answer that holds it
  --older-than AGE      such as 12h, 90d or 8w
  --ledger.maxAgeDays N stats counts as reusable what is not older; default: that of the job
  --date DAY            what {date} in a path stands for
  --json                print JSON; also where standard output is no terminal

Jobs may use the ledger meanwhile. A purge that was interrupted is done by the same command again.

Example: millrace ledger purge --ledger answers.ledger --email ada@example.com`;

const RETRY = `Usage: millrace retry [JOB] [flags]

Calls again only for those records of a finished job that failed, or lack a field because a
provider gave no answer, and puts the results in their places: a new output replaces the old one
when it is whole. Stopped, it goes on with the same command. It takes the flags of the run; rate,
concurrency, timeout and limits may be others:

${JOB_FLAGS}

  --date DAY         what {date} stands for        --scratch DIR    for state that grows
  --progress KIND    auto, bar, log or none        --log-level LEVEL  debug, info, warn, ...
  --monitor PORT     a live page, and /metrics     --log-format F   plain, or json for machines

Example: millrace retry sample`;

const SERVE = `Usage: millrace serve [flags]

The data service, on this machine. Prints {"url": ..., "pid": ...} once it is ready; Ctrl-C ends it.

  --host ADDRESS    where to listen (127.0.0.1)    --port N               0: any free port (8080)
  --store FILE      the service's own data         --region NAME          region of its keys (us)
  --sample          the sample set, with the key sample-key on the enterprise plan
  --take-over       have the process that serves the store stop, and take its place
  --monitor PORT    /metrics, /healthz, /readyz    --log-level LEVEL      info; on a terminal warn
  --development     webhooks may be http, and on this machine or a private network

Verifying, with a store of your own:
  --ehlo-name NAME  asks mail servers, as NAME     --mail-from ADDRESS    sender shown (null sender)
  --no-smtp         asks none, whatever is set     --dns-server HOST:PORT not this machine's
  --smtp-port N     a test bed of your own: this port, not 25

To try out how a client takes trouble:
  --latency-ms N    every answer waits this long   --latency-jitter-ms N  up to this much more
  --error-rate R    share of 500s, 0 to 1          --throttle-rate R      share of 429s
  --drop-rate R     share of broken connections    --hang-rate R          share left unanswered
  --fault-seed N    the same seed, the same faults

Example: millrace serve --sample --port 8080`;

const ENRICH = `Usage: millrace enrich KEY... | - [flags]

Asks the data service about people, by e-mail address, or companies, by domain. With - the keys come
from standard input, one a line. On a terminal it prints what is known, else a JSON object a line in
the same order: the record as the service sent it, or {"key", "outcome", "error"} for want of one.

  --base-url URL     the data service              --region NAME    with --service.regions.NAME
  --embedded         or the sample, to try it      --json           JSON on a terminal too
  --plan NAME        growth, scale or enterprise   --rpm N          or requests a minute
  --concurrency N    requests in flight, or auto   --timeout-ms N   longest wait for one answer
  --max-calls N      calls at most; then exit 77

--limits.maxOutageMs (10000) and --limits.maxWaitMs: how long it waits for a service that is down,
or says later. The API key comes from MILLRACE_API_KEY, or a file that MILLRACE_API_KEY_FILE names.
Exit code: 0, also when nothing is known; 1 when a key could not be looked up.

Example: millrace enrich --embedded jerome.noel@tundra-logistics.example`;

const VERIFY = `Usage: millrace verify EMAIL... | - [flags]

Checks e-mail addresses: by the data service, or with --local from this machine. With - they come
from standard input, one a line. On a terminal it prints the checks and how the confidence adds up,
else a JSON object a line in the same order. A bad address is a result: exit 0.

  --base-url, --region, --embedded, --plan, --rpm, --concurrency, --timeout-ms, --max-calls:
                    as millrace enrich
  --verify.patienceMs N   wait so long for verdicts that are pending, and ask again (0); --local too
  --json            JSON on a terminal too

  --local           here, without a service: syntax, lists, DNS, and the mail servers themselves
                    (--concurrency N: addresses under way at once, 10000)
  --mode MODE       full; dns asks no mail server; syntax asks nobody
  --ehlo-name NAME  said to mail servers (this machine's; MILLRACE_SMTP_EHLO_NAME)
  --mail-from ADDRESS   the sender that they are shown (the null sender; MILLRACE_SMTP_SENDER)
  --dns-server HOST:PORT, --smtp-port N   a test bed of your own: this DNS server; this port, not 25
                    (DNS may then point to this machine and to private networks)

Example: millrace verify --local --mode dns jane@example.com`;

const IMPORT = `Usage: millrace import --store FILE FILE... [flags]

Loads csv, tsv or jsonl, .gz and .zst too, into the service's store: files of your own, what export
wrote, or an enriched output of Millrace. Rows about somebody who is there already are merged, field
by field, the newer first. A running service has them at once. Prints the counts as JSON.

  --store FILE        the store; made when missing
  FILE, --contacts FILE   people: path, glob, folder, s3:// or -
  --companies FILE    companies
  --signals FILE      funding, hiring, moves, technologies
  --deliveries FILE   what became of mails: email, event (delivered, bounced), at; SMTP codes
  --columns.FIELD X   the column of a field, such as --columns.email "Primary contact"
  --as-of DAY         of when rows are that do not say so (now; deliveries must); see updated_at
  --rejected FILE     rows that could not be kept (STORE.rejected.jsonl)
  --input.encoding, --input.delimiter, --input.format: where they are not found out

Which columns are found by themselves: docs/operating.md. Importing a file again does no harm.

Example: millrace import --store service.sqlite crm.csv`;

const EXPORT = `Usage: millrace export --store FILE --contacts FILE [flags]

Writes what a service's store holds, as it is at one moment, also while it is served. JSON lines
hold whole records and can be imported again; a table holds what fits its cells. A file appears when
it is whole, in the place of an earlier one.

  --store FILE       the store
  --contacts FILE    people into .csv, .tsv or .jsonl, .gz or .zst after it; -: JSON lines, printed
  --companies FILE   companies             --signals FILE   buying signals
  --sources          with each record, which of its fields comes from where (jsonl)
  --escape-formulas  an apostrophe before cells that a spreadsheet would run (csv, tsv)
  --backup FILE      instead: a copy of the whole store with keys and batch jobs; a store itself

Example: millrace export --store service.sqlite --contacts contacts.jsonl.gz`;

const SUPPRESS = `Usage: millrace suppress EMAIL... | - --store FILE

Removes people who asked for it: gone from every answer and export, and never loaded again. Lookups
by what they were known by are answered with 451. The store keeps digests of their addresses and of
what else they were known by, and nothing else. With - addresses come from standard input, one a
line.

  --store FILE   the store; the service may run meanwhile

Example: millrace suppress jane@example.com --store service.sqlite`;

const CHECK = `Usage: millrace check --store FILE [--restore BACKUP | --rebuild] [--json]

Looks for damage in a service's store: pages, indexes, records, search, files of batch jobs. It only
reads, also while the store is served, and names what is hit and the next command.
With --restore or --rebuild (stop the service first) it makes the store anew from every record that
can be read; the old file stays beside it under a name that is printed.

  --store FILE      the store
  --restore BACKUP  take from this backup what cannot be read, or all of it where FILE is gone.
                    People erased since the backup stay erased (FILE.erased lists them)
  --rebuild         without a backup: what cannot be read is lost; indexes and search are made anew
  --json            print JSON

Exit code: 0 when nothing is damaged, or all is in order again; 65 when something is damaged.

Example: millrace check --store service.sqlite`;

const PROVIDER = `Usage: millrace provider check FILE [--answers FILE] [--call KEY...] [flags]
       millrace provider new DOCUMENT [--output FILE] [--path PATH]... | --name NAME

check: tries a provider definition, a file or a name under jobs/providers/, and sends nothing: its
faults by line and key, what it says in short, and how it judges recorded answers. With --call it
makes one real call for each KEY, and shows request and answer with the API key masked.
  --answers FILE     recorded answers; default: FILE.answers.json beside the definition
  --call KEY...      jane@example.com, example.com, +12125550100, 'name=Jane Roe,domain=example.com'
  --operation NAME   enrich, verify, company or reveal alone
  --base-url URL     another address than the definition's       --json   JSON on a terminal too
The API key comes from MILLRACE_<NAME>_API_KEY or MILLRACE_<NAME>_API_KEY_FILE.
Exit code: 1 when an answer is not judged as expected, or a call has no result; 78 for a fault.

new: begins a definition from an OpenAPI 3 document (a file, or - for standard input); without one,
every key in a skeleton. What it guessed says so in a comment.
  --output FILE      the definition; default: printed            --name NAME   acme
  --path PATH        a path of the document to take, such as /people/enrich; may be repeated

Example: millrace provider check acme.yaml --call jane@example.com`;

const KEYS = `Usage: millrace keys create --store FILE --plan PLAN [flags]
       millrace keys list --store FILE
       millrace keys update ID --store FILE [--plan PLAN] [--add-credits N] [--label TEXT]
       millrace keys rotate ID --store FILE [--overlap AGE]
       millrace keys revoke ID --store FILE

API keys of the data service. create prints the key, once: the store has only its digest. rotate
gives a key another secret; its credits and quota go on. A running service knows within a second.

  --store FILE     the store; made when missing
  --plan PLAN      trial (60 a minute, 1,000 calls), growth (1,000), scale (5,000), enterprise
  --region NAME    us, eu or apac (us)         --credits N   credits it may spend; else not counted
  --label TEXT     what it is for              --json        list as JSON on a terminal too
  --overlap AGE    for so long the former secret is let in too, such as 12h or 7d (rotate)

Example: millrace keys create --store service.sqlite --plan growth --label crm`;

export const HELP: Readonly<Record<string, string>> = {
  '': MAIN,
  run: RUN,
  plan: PLAN,
  init: INIT,
  jobs: JOBS,
  completion: COMPLETION,
  status: STATUS,
  retry: RETRY,
  ledger: LEDGER,
  serve: SERVE,
  enrich: ENRICH,
  verify: VERIFY,
  import: IMPORT,
  export: EXPORT,
  suppress: SUPPRESS,
  check: CHECK,
  provider: PROVIDER,
  keys: KEYS,
};
