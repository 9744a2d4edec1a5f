/** `svc cron ...`: lists, adds, changes and runs the jobs of a running gateway. */
import { isGatewayError } from "@svc/sdk";
import { askingWith, type Command, type CommandContext, defineCommands, show, visible } from "@svc/sdk/cli";
import { channels } from "@svc/sdk/channels";
import { cron, type CronJob, type CronRunEntry } from "@svc/sdk/cron";
import { namedJob, PAGE } from "./cli/find-job.ts";
import { choiceOption, countOption, type Options, textOption } from "./cli/options.ts";
import { draftParams, JOB_OPTIONS, patchFields } from "./cli/job-options.ts";
import { defined } from "./fields.ts";
import { type Here, jobLines, listLines, ranLines, runsLines, statusLines } from "./cli/text.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

const READ = ["operator.read"];
const ADMIN = ["operator.read", "operator.admin"];
const ask = askingWith({ plugin: "cron", step: "svc cron list --all" });

const STATUSES = ["ok", "error", "skipped"] as const;
/** Latest records in which `cron run` looks for its own run. */
const RECENT = 10;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const PAGE_OPTIONS: NonNullable<Command["options"]> = [
  { flags: "--limit <n>", description: `rows to show, at most ${PAGE}` },
  { flags: "--offset <n>", description: "rows to skip" },
  { flags: "--search <text>", description: "only rows with this text" },
];

export default defineCommands([
  {
    name: "cron list",
    summary: "List the jobs, the next one due first",
    options: [{ flags: "--all", description: "disabled jobs as well" }, ...PAGE_OPTIONS],
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
    summary: "Show whether jobs run, their number, and when the next one is due",
    examples: ["svc cron status", "svc cron status --json"],
    async run(context) {
      const answer = await ask(context, READ, (client) => client.call(cron.status, {}));
      show(context, answer, (status) => statusLines(status, here()));
    },
  },
  {
    name: "cron add",
    summary: "Add a job",
    options: [...JOB_OPTIONS, { flags: "--disabled", description: "add it disabled; enable it with: svc cron enable" }],
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
        async (client) => showJob(context, client, await client.call(cron.add, params), "added"),
        OPTIONS_STEP,
      );
    },
  },
  {
    name: "cron edit",
    summary: "Change a job; options that are not given keep their value",
    args: "<job>",
    options: JOB_OPTIONS,
    examples: ['svc cron edit "Morning report" --cron "0 8 * * 1-5"', 'svc cron edit 4f1c9a2e --model "" --no-deliver'],
    run: (context) => change(context, "changed", (job) => patchFields(context.options, job, Date.now()), OPTIONS_STEP),
  },
  {
    name: "cron rm",
    summary: "Remove a job; the records of its runs stay",
    args: "<job>",
    examples: ['svc cron rm "Morning report"'],
    run: remove,
  },
  {
    name: "cron remove",
    summary: "Alias of cron rm",
    args: "<job>",
    examples: ['svc cron remove "Morning report"'],
    run: remove,
  },
  {
    name: "cron enable",
    summary: "Schedule a disabled job again",
    args: "<job>",
    examples: ['svc cron enable "Morning report"'],
    run: (context) => change(context, "enabled", () => ({ enabled: true })),
  },
  {
    name: "cron disable",
    summary: "Stop scheduling a job until it is enabled again",
    args: "<job>",
    examples: ['svc cron disable "Morning report"'],
    run: (context) => change(context, "disabled", () => ({ enabled: false })),
  },
  {
    name: "cron run",
    summary: "Run a job now, wait for its end and show the result",
    args: "<job>",
    options: [{ flags: "--due", description: "only if it is due" }],
    examples: ['svc cron run "Morning report"', "svc cron run 4f1c9a2e --due"],
    run: runNow,
  },
  {
    name: "cron runs",
    summary: "List scheduled runs and their results, of one job or of all",
    args: "[job]",
    options: [
      { flags: "--status <status>", description: `only runs that ended ${STATUSES.join(", ")}` },
      ...PAGE_OPTIONS,
    ],
    examples: ["svc cron runs", 'svc cron runs "Morning report" --status error', "svc cron runs --json"],
    run: listRuns,
  },
  {
    name: "cron cancel",
    summary: "Abort the current run of a job and skip waiting runs",
    args: "<job>",
    examples: ['svc cron cancel "Morning report"'],
    run: (context) =>
      ask(context, ADMIN, async (client) => {
        const { id, name } = await namedJob(context, client);
        const answer = await client.call(cron.cancel, { id });
        show(context, answer, ({ cancelled }) => [
          visible(
            cancelled === 0 ? `${name} has no current or waiting run` : `cancelled runs of ${name}: ${cancelled}`,
          ),
        ]);
      }),
  },
]);

/** The next step after invalid options. */
const OPTIONS_STEP = "correct that option; for all options run: svc cron add --help";

/** @returns 0 when it ran and did not fail, else 1 */
async function runNow(context: CommandContext): Promise<number> {
  const mode = context.options["due"] === true ? ("due" as const) : ("force" as const);
  const work = async (client: Client) => {
    const job = await namedJob(context, client);
    const before = await recent(client, job.id);
    // The response is sent when the run has ended, which may take any time.
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

/** The record written since `before`; a run by hand is preferred. */
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

/** Records outlive their job, so the id of a removed job is accepted. */
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
      await showJob(context, client, await client.call(cron.update, { id: job.id, patch: patchOf(job) }), done);
    },
    step,
  );
}

function remove(context: CommandContext): Promise<void> {
  return ask(context, ADMIN, async (client) => {
    const { id, name } = await namedJob(context, client);
    const answer = await client.call(cron.remove, { id });
    show(context, answer, ({ removed }) => [
      visible(removed ? `removed ${name} (${id})` : `${name} does not exist any more`),
    ]);
  });
}

/** Shows a job, and warns when the scheduler is off. */
async function showJob(context: CommandContext, client: Client, job: CronJob, done: string): Promise<void> {
  const { enabled } = await client.call(cron.status, {});
  show(context, job, (one) => jobLines(one, done, enabled, here()));
  await warnOfChannel(context, client, job);
}

/** A warning only: the channel may be set up before the job is due. */
async function warnOfChannel(context: CommandContext, client: Client, { delivery }: CronJob): Promise<void> {
  const wanted = delivery?.mode === "announce" ? (delivery.channel ?? "last").trim().toLowerCase() : "last";
  if (wanted === "last") return;
  const status = await client.call(channels.status, {}).catch(() => undefined); // a trimmed gateway has no channels
  if (!status) return;
  const { channelOrder, channelLabels } = status;
  const meant = channelOrder.find((id) => id === wanted || channelLabels[id]?.toLowerCase() === wanted);
  if (meant !== undefined && status.channels[meant]?.configured === true) return;
  const why = meant !== undefined ? "is not configured" : "is not one of this gateway's channels";
  context.note(`warning: channel ${visible(wanted)} ${why}, so the report cannot be sent\nNext: svc channels list`);
}

interface Page {
  readonly limit?: number;
  readonly offset?: number;
  readonly query?: string;
}

function page(options: Options): Page {
  const limit = countOption(options, "limit", { least: 1, most: PAGE, example: 20 });
  const offset = countOption(options, "offset", { least: 0, most: 1_000_000, example: 20 });
  const query = textOption(options, "search");
  return defined<Page>({ limit, offset, query });
}

function here(): Here {
  return { now: Date.now() };
}
