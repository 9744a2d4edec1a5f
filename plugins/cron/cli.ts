/** `svc cron ...`: look at the jobs of a running gateway, add and change them, run them. */
import { isGatewayError } from "@svc/sdk";
import { askingWith, type Command, type CommandContext, defineCommands, show, visible } from "@svc/sdk/cli";
import { cron, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import { choiceOption, countOption, type Options, resolveJob, textOption } from "./cli-input.ts";
import { draftParams, JOB_OPTIONS, patchFields } from "./cli-job.ts";
import { type Here, jobLines, listLines, ranLines, runsLines, statusLines } from "./cli-text.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

const READ = ["operator.read"];
const ADMIN = ["operator.read", "operator.admin"];
const ask = askingWith({ plugin: "cron", step: "svc cron list --all" });

/** Rows one question may ask for. Spec: methods-cron.md §6, §8. */
const PAGE = 200;
/** Choice: pages that are looked through for the job somebody means. */
const MOST_PAGES = 50;
const STATUSES = ["ok", "error", "skipped"] as const;
/** Records the run just made is looked for among. */
const RECENT = 10;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const PAGE_OPTIONS: NonNullable<Command["options"]> = [
  { flags: "--limit <n>", description: `rows to show, at most ${PAGE}` },
  { flags: "--offset <n>", description: "rows to leave out before" },
  { flags: "--search <text>", description: "only those with this text" },
];

export default defineCommands([
  {
    name: "cron list",
    summary: "Jobs, the next to run first",
    options: [{ flags: "--all", description: "those that are off as well" }, ...PAGE_OPTIONS],
    examples: ["svc cron list", "svc cron list --all --search report", "svc cron list --json"],
    async run(context) {
      const { options } = context;
      const params = { enabled: options["all"] === true ? ("all" as const) : ("enabled" as const), ...page(options) };
      const answer = await ask(context, READ, (client) => client.call(cron.list, params));
      const filtered = options["all"] !== true || params.query !== undefined;
      show(context, answer, (listed) => listLines(listed, filtered, here()));
    },
  },
  {
    name: "cron status",
    summary: "Whether jobs run, how many there are, and when the next one is due",
    examples: ["svc cron status", "svc cron status --json"],
    async run(context) {
      const answer = await ask(context, READ, (client) => client.call(cron.status, {}));
      show(context, answer, (status) => statusLines(status, here()));
    },
  },
  {
    name: "cron add",
    summary: "Add a job",
    options: [...JOB_OPTIONS, { flags: "--disabled", description: "it is off until: svc cron enable" }],
    examples: [
      'svc cron add --at +20m --system-event "Take the bread out"',
      'svc cron add --cron "0 9 * * 1-5" --tz Europe/Berlin --message "What is new?" --channel irc --to "#news"',
      'svc cron add --every 1h --message "Check the backups" --webhook https://example.com/done',
    ],
    async run(context) {
      const params = draftParams(context.options, Date.now());
      await ask(
        context,
        ADMIN,
        async (client) => tell(context, client, await client.call(cron.add, params), "added"),
        MEND,
      );
    },
  },
  {
    name: "cron edit",
    summary: "Change a job; what is not given stays",
    args: "<job>",
    options: JOB_OPTIONS,
    examples: ['svc cron edit "Morning report" --cron "0 8 * * 1-5"', 'svc cron edit 4f1c9a2e --model "" --no-deliver'],
    run: (context) => change(context, "changed", (job) => patchFields(context.options, job, Date.now()), MEND),
  },
  {
    name: "cron rm",
    summary: "Remove a job; the record of its runs stays",
    args: "<job>",
    examples: ['svc cron rm "Morning report"'],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const { id, name } = await namedJob(context, client);
        const answer = await client.call(cron.remove, { id });
        show(context, answer, ({ removed }) => [
          visible(removed ? `removed ${name} (${id})` : `${name} was gone already`),
        ]);
      }),
  },
  {
    name: "cron enable",
    summary: "Let a job run again",
    args: "<job>",
    examples: ['svc cron enable "Morning report"'],
    run: (context) => change(context, "turned on", () => ({ enabled: true })),
  },
  {
    name: "cron disable",
    summary: "Let a job run no more until it is enabled",
    args: "<job>",
    examples: ['svc cron disable "Morning report"'],
    run: (context) => change(context, "turned off", () => ({ enabled: false })),
  },
  {
    name: "cron run",
    summary: "Run a job now, wait for its end and say how it was",
    args: "<job>",
    options: [{ flags: "--due", description: "only when it is due" }],
    examples: ['svc cron run "Morning report"', "svc cron run 4f1c9a2e --due"],
    run: runNow,
  },
  {
    name: "cron runs",
    summary: "What became of each time a job was due, of one job or of all",
    args: "[job]",
    options: [
      { flags: "--status <status>", description: `only those that ended ${STATUSES.join(", ")}` },
      ...PAGE_OPTIONS,
    ],
    examples: ["svc cron runs", 'svc cron runs "Morning report" --status error', "svc cron runs --json"],
    run: listRuns,
  },
  {
    name: "cron cancel",
    summary: "Stop what a job is doing, and drop what waits",
    args: "<job>",
    examples: ['svc cron cancel "Morning report"'],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const { id, name } = await namedJob(context, client);
        const answer = await client.call(cron.cancel, { id });
        show(context, answer, ({ cancelled }) => [
          visible(cancelled === 0 ? `nothing of ${name} runs or waits` : `stopped ${cancelled} of ${name}`),
        ]);
      }),
  },
]);

/** After a refusal of what was given. */
const MEND = "correct what it names, and see what there is: svc cron add --help";

/** @returns 0 when it ran and did not fail, else 1 */
async function runNow(context: CommandContext): Promise<number> {
  const mode = context.options["due"] === true ? ("due" as const) : ("force" as const);
  const work = async (client: Client) => {
    const job = await namedJob(context, client);
    const before = await recent(client, job.id);
    // It answers when the run has ended, and how long that takes is the job's affair.
    const answer = await client.call(cron.run, { id: job.id, mode }, { timeoutMs: 0 });
    const entry = answer.ran ? newOf(await recent(client, job.id), before) : undefined;
    show(context, answer, (result) => ranLines(job, result, entry));
    return answer.ran && entry?.status !== "error" ? 0 : 1;
  };
  const [wanted = ""] = context.args;
  return ask(context, ADMIN, work, `svc cron runs ${visible(/\s/.test(wanted) ? JSON.stringify(wanted) : wanted)}`);
}

async function recent(client: Client, id: string): Promise<readonly CronRunEntry[]> {
  return (await client.call(cron.runs, { id, limit: RECENT })).entries;
}

/** What was written down since, of a run by hand where there is one. */
function newOf(entries: readonly CronRunEntry[], before: readonly CronRunEntry[]): CronRunEntry | undefined {
  const known = new Set(before.map((entry) => JSON.stringify(entry)));
  const fresh = entries.filter((entry) => (entry.record ?? "ran") === "ran" && !known.has(JSON.stringify(entry)));
  return fresh.find(({ manual }) => manual === true) ?? fresh[0];
}

async function listRuns(context: CommandContext): Promise<void> {
  const { args, options } = context;
  const status = choiceOption(options, "status", STATUSES);
  const rows = { ...page(options), ...(status && { status }) };
  const [wanted] = args;
  const answer = await ask(context, READ, async (client) => {
    if (wanted === undefined) return client.call(cron.runs, { scope: "all", ...rows });
    return client.call(cron.runs, { id: await runsIdOf(context, client, wanted), ...rows });
  });
  show(context, answer, (listed) => runsLines(listed, wanted === undefined, here()));
}

/** The runs of a job outlive it: an id is enough for them. */
async function runsIdOf(context: CommandContext, client: Client, wanted: string): Promise<string> {
  try {
    return (await namedJob(context, client)).id;
  } catch (error) {
    if (isGatewayError(error) && error.code === "NOT_FOUND" && UUID.test(wanted.trim())) return wanted.trim();
    throw error;
  }
}

async function change(
  context: CommandContext,
  done: string,
  patchOf: (job: CronJob) => object,
  step?: string,
): Promise<void> {
  await ask(
    context,
    ADMIN,
    async (client) => {
      const job = await namedJob(context, client);
      await tell(context, client, await client.call(cron.update, { id: job.id, patch: patchOf(job) }), done);
    },
    step,
  );
}

/** Shows a job, and that none runs where the scheduler is off. */
async function tell(context: CommandContext, client: Client, job: CronJob, done: string): Promise<void> {
  const { enabled } = await client.call(cron.status, {});
  show(context, job, (one) => jobLines(one, done, enabled, here()));
}

async function namedJob({ args: [wanted = ""] }: CommandContext, client: Client): Promise<CronJob> {
  const jobs: CronJob[] = [];
  let offset: number | null = 0;
  for (let pages = 0; offset !== null && pages < MOST_PAGES; pages += 1) {
    const params: { enabled: "all"; limit: number; offset: number } = { enabled: "all", limit: PAGE, offset };
    const listed = await client.call(cron.list, params);
    jobs.push(...listed.jobs);
    offset = listed.nextOffset;
  }
  return resolveJob(jobs, wanted);
}

function page(options: Options): { limit?: number; offset?: number; query?: string } {
  const limit = countOption(options, "limit", { least: 1, most: PAGE, example: 20 });
  const offset = countOption(options, "offset", { least: 0, most: 1_000_000, example: 20 });
  const query = textOption(options, "search");
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(offset === undefined ? {} : { offset }),
    ...(query === undefined ? {} : { query }),
  };
}

function here(): Here {
  return { now: Date.now() };
}
