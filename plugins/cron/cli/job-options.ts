/** The options of `svc cron add` and `svc cron edit`, and the params made from them. Pure. */
import type { Command } from "@svc/sdk/cli";
import type { CronJob, CronSchedule } from "@svc/sdk/cron";
import {
  choiceOption,
  countOption,
  filledOption,
  flagOf,
  isGiven,
  onlyOneOf,
  type Options,
  refuse,
  spanOption,
  textOption,
} from "./options.ts";
import { parseWhen } from "./times.ts";
import { defined, type Fields } from "../fields.ts";

/** Options of `add` and `edit`. */
export const JOB_OPTIONS: NonNullable<Command["options"]> = [
  { flags: "--name <name>", description: "name of the job; default: the beginning of its text" },
  { flags: "--description <text>", description: "purpose of the job" },
  { flags: "--at <time>", description: "run once: ISO 8601 (UTC without a zone), or a time from now like +20m" },
  { flags: "--every <span>", description: "run repeatedly: 30s, 5m, 2h, 1d" },
  { flags: "--cron <expr>", description: 'run by a cron expression, 5 or 6 fields, e.g. "0 9 * * 1-5"' },
  {
    flags: "--tz <zone>",
    description: "zone of --cron, e.g. Europe/Berlin; default: agents.defaults.userTimezone, else that of the gateway",
  },
  {
    flags: "--stagger <span>",
    description: "delay runs of --cron by a fixed offset below this, different per job; 0: no delay",
  },
  { flags: "--session <target>", description: "main: the main session; isolated: the job's own session" },
  { flags: "--session-key <key>", description: "session that gets --system-event; default: main" },
  { flags: "--system-event <text>", description: "text for the main session" },
  { flags: "--message <text>", description: "task for an agent, in the job's own session" },
  { flags: "--agent <id>", description: "agent that runs it; default: the default agent" },
  { flags: "--model <ref>", description: "model for --message" },
  { flags: "--thinking <level>", description: "thinking level for --message" },
  { flags: "--timeout-seconds <n>", description: "seconds --message may take, 0 for no limit" },
  { flags: "--wake <mode>", description: "when the session reads the event: now, or next-heartbeat" },
  { flags: "--announce", description: "send the reply of the agent to a channel" },
  { flags: "--channel <id>", description: "channel for the reply; last: the channel of the last message to the agent" },
  { flags: "--to <recipient>", description: "recipient in that channel" },
  { flags: "--account <id>", description: "account of that channel to send with" },
  { flags: "--webhook <url>", description: "post the result of each run to this URL" },
  { flags: "--best-effort-deliver", description: "a failed delivery does not fail the run" },
  { flags: "--no-deliver", description: "send nothing" },
  { flags: "--delete-after-run", description: "remove the job after a successful run; default with --at" },
  { flags: "--keep-after-run", description: "keep the job after its run" },
  {
    flags: "--catch-up <mode>",
    description: "which runs missed while the gateway was down are made up for: none, last or all",
  },
  { flags: "--catch-up-window <span>", description: "how old they may be with --catch-up all; default 1d" },
  { flags: "--overlap <mode>", description: "when a run is due while the job still runs: skip, queue or replace" },
  { flags: "--failure-alert-after <n>", description: "alert after this many failures in a row" },
  { flags: "--failure-alert-cooldown <span>", description: "least time between two alerts" },
  { flags: "--failure-alert-channel <id>", description: "channel for alerts" },
  { flags: "--failure-alert-to <recipient>", description: "recipient of alerts" },
  { flags: "--no-failure-alert", description: "send no alerts" },
];

const WHENS = ["at", "every", "cron"] as const;
const SCHEDULE_EXAMPLES = '--at +20m, --every 1h or --cron "0 9 * * 1-5"';
/** Options that only an agent turn has. */
const TURN_OPTIONS = ["model", "thinking", "timeoutSeconds"] as const;
const ADDRESS = [
  ["channel", "channel"],
  ["to", "to"],
  ["account", "accountId"],
] as const;
const ALERT_OPTIONS = ["failureAlertAfter", "failureAlertCooldown", "failureAlertChannel", "failureAlertTo"];
/** Most seconds of a turn, a week. */
const MOST_SECONDS = 604_800;

/** The params of `cron.add`. @param now epoch ms @throws GatewayError `INVALID_REQUEST` naming the option */
export function draftParams(options: Options, now: number): Fields {
  const schedule =
    scheduleFields(options, undefined, now) ?? refuse("the job has no schedule", `give ${SCHEDULE_EXAMPLES}`);
  const payload =
    payloadFields(options, undefined) ??
    refuse("the job has no payload", 'give --message "..." or --system-event "..."');
  const agentId = filledOption(options, "agent", "main");
  return defined<Fields>({
    ...jobFields(options, undefined),
    name: filledOption(options, "name", '"Morning report"'),
    agentId,
    schedule,
    payload,
    enabled: options["disabled"] === true ? false : undefined,
    delivery: deliveryFields(options, undefined),
  });
}

/**
 * The `patch` of `cron.update`.
 * @param now epoch ms
 * @throws GatewayError `INVALID_REQUEST` naming the option, or when no option changes anything
 */
export function patchFields(options: Options, job: CronJob, now: number): Fields {
  const payload = payloadFields(options, job);
  const fields = jobFields(options, job);
  // A payload of the other kind needs the other session target.
  const isOther = payload !== undefined && payload["kind"] !== job.payload.kind;
  const place = payload?.["kind"] === "systemEvent" ? "main" : "isolated";
  const patch = defined<Fields>({
    ...fields,
    sessionTarget: fields["sessionTarget"] ?? (isOther ? place : undefined),
    name: filledOption(options, "name", '"Morning report"'),
    agentId: orNull(textOption(options, "agent")),
    schedule: scheduleFields(options, job.schedule, now),
    payload,
    delivery: deliveryFields(options, job),
  });
  return Object.keys(patch).length === 0 ? refuse("nothing to change", "svc cron edit --help") : patch;
}

function jobFields(options: Options, job: CronJob | undefined): Fields {
  const after = onlyOneOf(options, ["deleteAfterRun", "keepAfterRun"]);
  return {
    description: textOption(options, "description"),
    sessionTarget: choiceOption(options, "session", ["main", "isolated"]),
    sessionKey: job ? orNull(textOption(options, "sessionKey")) : filledOption(options, "sessionKey", "main"),
    wakeMode: choiceOption(options, "wake", ["now", "next-heartbeat"]),
    deleteAfterRun: after === undefined ? undefined : after === "deleteAfterRun",
    overlap: choiceOption(options, "overlap", ["skip", "queue", "replace"]),
    catchUp: catchUpFields(options, job?.catchUp),
    failureAlert: alertFields(options),
  };
}

/** @param former the schedule to change: --tz and --stagger alone keep its expression */
function scheduleFields(options: Options, former: CronSchedule | undefined, now: number): Fields | undefined {
  const which = onlyOneOf(options, WHENS);
  const tz = textOption(options, "tz");
  const staggerMs = spanOption(options, "stagger", 0, "5m");
  const isCron = which === "cron" || (which === undefined && former?.kind === "cron");
  if (!isCron) {
    for (const name of ["tz", "stagger"])
      if (isGiven(options, name)) refuse(`${flagOf(name)} is only valid with --cron`, CRON_EXAMPLE);
  }
  if (which === "at") {
    const at = textOption(options, "at") ?? "";
    return { kind: "at", at: parseWhen(at, now) ?? refuse(`--at takes ISO 8601 or +20m, not "${at}"`, "--at +20m") };
  }
  if (which === "every") return { kind: "every", everyMs: spanOption(options, "every", 1, "5m") };
  if (!isCron || (which === undefined && tz === undefined && staggerMs === undefined)) return undefined;
  const kept = former?.kind === "cron" ? former : undefined;
  const expr = filledOption(options, "cron", '"0 9 * * 1-5"') ?? kept?.expr;
  return defined<Fields>({ kind: "cron", expr, tz: (tz ?? kept?.tz) || undefined, staggerMs });
}

const CRON_EXAMPLE = '--cron "0 9 * * 1-5" --tz Europe/Berlin';

function payloadFields(options: Options, job: CronJob | undefined): Fields | undefined {
  const which = onlyOneOf(options, ["systemEvent", "message"]);
  const isTurn = which === "message" || (which === undefined && job?.payload.kind === "agentTurn");
  const first = TURN_OPTIONS.find((name) => isGiven(options, name));
  if (first !== undefined && !isTurn)
    refuse(`${flagOf(first)} is only valid with --message`, `--message "..." ${flagOf(first)} ...`);
  if (which === "systemEvent") return { kind: "systemEvent", text: filledOption(options, which, '"..."') };
  if (which === undefined && first === undefined) return undefined;
  const limits = { least: 0, most: MOST_SECONDS, example: 600 };
  return defined<Fields>({
    kind: "agentTurn",
    message: filledOption(options, "message", '"..."'),
    model: textOption(options, "model"),
    thinking: textOption(options, "thinking"),
    timeoutSeconds: countOption(options, "timeoutSeconds", limits),
  });
}

/** @param job the job to change; `undefined`: a new one, where an address alone implies `--announce` */
function deliveryFields(options: Options, job: CronJob | undefined): Fields | undefined {
  const former = job?.delivery;
  const bestEffort = options["bestEffortDeliver"] === true ? true : undefined;
  const address = Object.fromEntries(ADDRESS.map(([name, field]) => [field, textOption(options, name)]));
  const first = ADDRESS.find(([name]) => isGiven(options, name));
  const which = onlyOneOf(options, ["announce", "webhook"]);
  if (options["deliver"] === false) {
    const other = which ?? first?.[0] ?? (bestEffort && "bestEffortDeliver");
    if (other !== undefined) refuse(`--no-deliver and ${flagOf(other)} exclude each other`, "give one of them");
    return { mode: "none" };
  }
  if (which === "webhook") {
    if (first) refuse(`${flagOf(first[0])} is only valid with --announce, not with --webhook`, "leave one of them out");
    const to = filledOption(options, "webhook", "https://example.com/done");
    return defined<Fields>({ mode: "webhook", to, bestEffort });
  }
  if (which === undefined && !first) return bestEffort && { ...(job ? {} : { mode: "announce" }), bestEffort };
  if (which === undefined && former?.mode === "webhook") {
    refuse("this job posts to a webhook", `give ${flagOf(first?.[0] ?? "to")} together with --announce`);
  }
  // The URL of a webhook is not a recipient of a channel.
  const to = address["to"] ?? (former?.mode === "webhook" ? "" : undefined);
  return defined<Fields>({ mode: "announce", ...address, to, bestEffort });
}

function catchUpFields(options: Options, former: CronJob["catchUp"]): Fields | undefined {
  const given = choiceOption(options, "catchUp", ["none", "last", "all"]);
  const windowMs = spanOption(options, "catchUpWindow", 1, "6h");
  const mode = given ?? (windowMs === undefined ? undefined : former?.mode);
  if (windowMs !== undefined && mode !== "all")
    refuse("--catch-up-window is only valid with --catch-up all", "--catch-up all --catch-up-window 6h");
  return mode === undefined ? undefined : defined<Fields>({ mode, windowMs });
}

function alertFields(options: Options): Fields | false | undefined {
  const first = ALERT_OPTIONS.find((name) => isGiven(options, name));
  if (options["failureAlert"] === false) {
    return first === undefined
      ? false
      : refuse(`--no-failure-alert and ${flagOf(first)} exclude each other`, "give one of them");
  }
  if (first === undefined) return undefined;
  return defined<Fields>({
    after: countOption(options, "failureAlertAfter", { least: 1, most: 1_000, example: 3 }),
    cooldownMs: spanOption(options, "failureAlertCooldown", 0, "1h"),
    channel: textOption(options, "failureAlertChannel"),
    to: textOption(options, "failureAlertTo"),
  });
}

/** A blank text clears the field. */
function orNull(text: string | undefined): string | null | undefined {
  return text === "" ? null : text;
}
