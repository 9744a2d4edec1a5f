/** The tool `cron`: schedules jobs for the owner of the gateway. */
import { AnySignal } from "@svc/kit/time";
import {
  type Clock,
  floorOf,
  invalidRequest,
  type Origin,
  outsideOrigin,
  type ParamsOf,
  pause,
  type ResultOf,
  type Static,
  Strict,
  Type,
} from "@svc/sdk";
import type { cron } from "@svc/sdk/cron";
import { defineTool, type Tool, type ToolCall, type ToolResult } from "@svc/sdk/tools";
import { type Fields, isBlank, isFields } from "../fields.ts";
import { unwrapped } from "./input.ts";
import { withPayload } from "./normalize.ts";

/** The actions of the tool. Each works like the method of the same name. */
export interface CronActions {
  status(params: ParamsOf<typeof cron.status>): Promise<ResultOf<typeof cron.status>>;
  list(params: ParamsOf<typeof cron.list>): Promise<ResultOf<typeof cron.list>>;
  /** @param params as `cron.add` @param origin source of the input that led to the call; `undefined`: the owner */
  add(params: Fields, origin: Origin | undefined): Promise<ResultOf<typeof cron.add>>;
  /** @param params as `cron.update` @param origin as of `add` */
  update(params: Fields, origin: Origin | undefined): Promise<ResultOf<typeof cron.update>>;
  remove(params: ParamsOf<typeof cron.remove>): Promise<ResultOf<typeof cron.remove>>;
  /** Settles when the run has ended. */
  run(params: ParamsOf<typeof cron.run>): Promise<ResultOf<typeof cron.run>>;
  runs(params: ParamsOf<typeof cron.runs>): Promise<ResultOf<typeof cron.runs>>;
  /** Adds an event to the main session. @returns `ok: false` when `text` is blank */
  wake(params: {
    readonly text: string;
    readonly mode: WakeMode;
    readonly origin?: Origin;
  }): Promise<{ readonly ok: boolean }>;
}

type WakeMode = "now" | "next-heartbeat";

/** Milliseconds the tool waits for a run. Choice: enough to report a refusal, and too short to block a run that waits for this one. */
const RUN_WAIT_MS = 2_000;
const ACTIONS = ["status", "list", "add", "update", "remove", "run", "runs", "wake"] as const;
/** Sessions that end with their run or belong to another program: nobody would read a reminder there. */
const PASSING_SESSION = /^(?:agent:[^:]*:)?(?:cron|subagent|acp):/i;

const text = (description: string) => Type.Optional(Type.String({ description }));
const loose = (description: string) => Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }));

const Params = Strict({
  action: text(ACTIONS.join(", ")),
  id: text("the job, for update, remove and run; for runs only its own"),
  jobId: text("the same as id"),
  job: loose(
    'for add: {name?, schedule, payload, ...}. schedule: {"kind":"at","at":"2030-01-31T09:00:00Z"}, ' +
      '{"kind":"every","everyMs":3600000} or {"kind":"cron","expr":"0 9 * * 1-5","tz":"Europe/Berlin"}. ' +
      'payload: {"kind":"systemEvent","text":"..."} reminds this session; {"kind":"agentTurn","message":"..."} lets an ' +
      'agent work in its own session and delivers its reply as delivery says: {"mode":"none|announce|webhook",' +
      '"channel":"...","to":"..."}. Further: enabled, deleteAfterRun, wakeMode, catchUp (none, last, all), overlap ' +
      "(skip, queue, replace), failureAlert, description",
  ),
  patch: loose("for update: only what changes, as in job"),
  includeDisabled: Type.Optional(Type.Boolean({ description: "for list" })),
  query: text("for list and runs: only entries with this text"),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: "for list and runs" })),
  runMode: Type.Optional(
    Type.Enum(["due", "force"], { description: "for run; due: only when it is due. Default force" }),
  ),
  text: text("for wake: the event for the main session"),
  mode: Type.Optional(
    Type.Enum(["now", "next-heartbeat"], {
      description: "for wake: when the session reads the event; default next-heartbeat",
    }),
  ),
});
type Params = Static<typeof Params>;

interface Asked {
  readonly params: Params;
  readonly call: ToolCall;
  readonly signal: AbortSignal;
  readonly origin: Origin | undefined;
}

/** @param clock for the timeout of the action `run` */
export function cronTool(service: CronActions, clock: Pick<Clock, "setTimeout">): Tool {
  const actions: Readonly<Record<(typeof ACTIONS)[number], (asked: Asked) => Promise<object>>> = {
    status: () => service.status({}),
    list: ({ params }) => service.list({ ...pageOf(params), ...(params.includeDisabled && { includeDisabled: true }) }),
    add: ({ params, call, origin }) => service.add(jobBy(call, params.job), origin),
    update: ({ params, origin }) => service.update({ id: idOf(params), patch: changeIn(params) }, origin),
    remove: ({ params }) => service.remove({ id: idOf(params) }),
    run: (asked) => started(service, asked, clock),
    runs: ({ params }) => service.runs({ ...pageOf(params), ...(hasId(params) && { id: idOf(params) }) }),
    wake: ({ params, origin }) => wake(service, params, origin),
  };
  return defineTool({
    description:
      "Schedules reminders for this session, and work that an agent does on its own, once or repeatedly. " +
      "list shows the jobs, runs their results; wake adds an event to the main session.",
    params: Params,
    scope: "operator.admin",
    ownerOnly: true,
    effects: ["changes-gateway"],
    brings: "none",
    async run(params, { call, signal, outside }) {
      const wanted = params.action?.trim() ?? "";
      if (wanted === "") return invalidRequest("action required");
      const action = ACTIONS.find((name) => name === wanted);
      if (!action) return invalidRequest(`unknown action "${wanted}"; actions: ${ACTIONS.join(", ")}`);
      return resultOf(await actions[action]({ params, call, signal, origin: outside?.origin }));
    },
  });
}

/**
 * A job that an agent adds belongs to that agent. A reminder goes to the session of the call: its key names the agent
 * as well, whereas `agentId` would be refused for any agent except the default one.
 */
function jobBy({ agentId, sessionKey }: ToolCall, given: Fields | undefined): Fields {
  if (!given) return invalidRequest("job required: a payload and a schedule");
  const job = unwrapped(given);
  const { payload } = withPayload(job);
  const isReminder = isFields(payload) && payload["kind"] === "systemEvent";
  if (!isReminder) return job["agentId"] === undefined ? { ...job, agentId } : job;
  const isNamed = job["sessionKey"] !== undefined || job["agentId"] !== undefined;
  return isNamed || PASSING_SESSION.test(sessionKey) ? job : { ...job, sessionKey };
}

/**
 * Starts a run and waits for it only briefly: the job may run the calling agent, or wait for it.
 * @returns the result of `cron.run`, or a note that the run continues
 */
async function started(
  service: CronActions,
  { params, signal }: Asked,
  clock: Pick<Clock, "setTimeout">,
): Promise<object> {
  const id = idOf(params);
  const running = service.run({ id, ...(params.runMode && { mode: params.runMode }) });
  const over = new AnySignal(signal);
  const late = pause(RUN_WAIT_MS, clock, over.signal).then(() => undefined);
  try {
    const ended = await Promise.race([running, late]);
    return ended ?? { ok: true, started: true, next: "the run continues; the action runs shows its result" };
  } finally {
    over.abort();
    running.catch(() => undefined); // `cron.runs` has the error
  }
}

async function wake(
  service: CronActions,
  { text = "", mode = "next-heartbeat" }: Params,
  origin: Origin | undefined,
): Promise<object> {
  if (text.trim() === "") return invalidRequest("text required: the event for the main session");
  return service.wake({ text, mode, ...(origin ? { origin } : {}) });
}

function pageOf({ query, limit }: Params): { query?: string; limit?: number } {
  return { ...(isBlank(query) ? {} : { query }), ...(limit === undefined ? {} : { limit }) };
}

function changeIn({ patch }: Params): Fields {
  return patch ?? invalidRequest("patch required: the changed fields, as in job");
}

function hasId({ id, jobId }: Params): boolean {
  return !isBlank(id) || !isBlank(jobId);
}

function idOf({ id = "", jobId = "" }: Params): string {
  const given = [...new Set([id.trim(), jobId.trim()])].filter((one) => one !== "");
  if (given.length > 1) return invalidRequest("id and jobId name different jobs; give one of them");
  return given[0] ?? invalidRequest("id required; the action list shows the jobs");
}

function resultOf(details: object): ToolResult {
  const origin = originIn(details);
  return { content: [{ type: "text", text: JSON.stringify(details) }], details, ...(origin ? { origin } : {}) };
}

/** Choice: results of runs count as external content, since a run may have read anything. */
function originIn(details: object): Origin | undefined {
  type WithOrigin = { readonly origin?: Origin };
  const { entries, jobs = [details] } = details as {
    readonly entries?: unknown;
    readonly jobs?: readonly WithOrigin[];
  };
  return entries === undefined
    ? floorOf(jobs.map(({ origin }: WithOrigin) => origin))
    : outsideOrigin("agent", "runs of jobs");
}
