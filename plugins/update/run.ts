/** `update.run`: the update, the restart, and the note posted after the restart. Spec: protocol/methods-system.md §1. */
import { type Clock, isGatewayError, type Logger, messageOf, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { RestartNote, RestartNotes, Restarts } from "@svc/sdk/gateway";
import type { update } from "@svc/sdk/update";
import { noteOf } from "./report.ts";
import type { UpdateSettings } from "./settings.ts";
import type { Update, Updater } from "./updater.ts";

/** Milliseconds a step may take. */
const TIMEOUT = { usual: 1_200_000, least: 1_000 };

type Params = ParamsOf<typeof update.run>;
type Result = ResultOf<typeof update.run>;

export interface RunOptions {
  readonly version: string;
  readonly channel: UpdateSettings["channel"];
  readonly restarts: Restarts;
  /** `undefined`: no plugin stores notes. */
  notes(): RestartNotes | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
  updater(): Promise<Pick<Updater, "run">>;
  /** The right to update, which one gateway of a state has at a time, until it has restarted; `undefined`: another one has it. */
  turn(): Promise<Turn | undefined>;
}

export interface Turn {
  /** Lets another gateway update. Never rejects. */
  release(): Promise<void>;
}

/** @param how.isAsked default true; false: a failure is only logged, however often the update is retried */
export type Run = (params: Params, how?: { readonly isAsked: boolean }) => Promise<Result>;

export function createRun(options: RunOptions): Run {
  const { restarts, clock, log, channel, version } = options;
  return async (
    { timeoutMs = TIMEOUT.usual, dryRun = false, restartDelayMs, ...asked },
    { isAsked } = { isAsked: true },
  ) => {
    const order = { channel, timeoutMs: Math.max(TIMEOUT.least, timeoutMs), dryRun };
    const turn = dryRun || !restarts.renewable ? undefined : await options.turn();
    const isElsewhere = !dryRun && !turn;
    const install = async () => (isElsewhere ? elsewhere(version) : (await options.updater()).run(order));
    const done = restarts.renewable ? await install() : embedded(version);
    const { report } = done;
    if (report.status !== "ok") await turn?.release();
    const note = noteOf(done, asked, clock.now());
    const isKept = !dryRun && (isAsked || report.status === "ok");
    const path = isKept ? await keep(note, options) : null; // on disk before the restart can begin
    const restart = report.status === "ok" ? schedule(restartDelayMs, options) : null;
    log.info({ status: report.status, reason: report.reason, before: report.before, after: report.after }, "update");
    return { ok: report.status !== "error", result: report, restart, sentinel: { path, payload: note } };
  };
}

export const EMBEDDED = "this gateway runs inside another program";

/** Choice: a gateway inside another program is updated with that program. */
function embedded(version: string): Update {
  return {
    report: { status: "skipped", mode: "unknown", reason: "embedded", before: { version }, steps: [], durationMs: 0 },
    why: `${EMBEDDED}, and is updated together with that program`,
    byHand: ["update the program that runs it"],
  };
}

/** Choice: gateways of one state are updated one after the other, so that one of them always runs. */
function elsewhere(version: string): Update {
  return {
    report: {
      status: "skipped",
      mode: "unknown",
      reason: "another-gateway",
      before: { version },
      steps: [],
      durationMs: 0,
    },
    why: "another gateway of this state is being updated",
    byHand: ["update this one when the other one is back"],
  };
}

/** @returns path of the stored note; `null`: not stored, and logged instead */
async function keep(note: RestartNote, { log, ...options }: RunOptions): Promise<string | null> {
  const notes = options.notes();
  if (!notes) {
    log.info({ note: note.message }, "the note is not posted after the restart: no running plugin stores notes");
    return null;
  }
  try {
    await notes.keep(note);
    return notes.path;
  } catch (error) {
    const fields = { err: error, path: notes.path, note: note.message };
    log.warn(fields, "the note on the update could not be stored, so it is not posted after the restart");
    return null;
  }
}

/** Schedules the restart. Never throws: a failure does not undo the update. */
function schedule(delayMs: number | undefined, { restarts, log }: RunOptions): NonNullable<Result["restart"]> {
  const base = { ok: true, pid: process.pid, signal: "SIGUSR1", mode: "emit" } as const;
  const wanted = { reason: "update.run", kind: "process", ...(delayMs === undefined ? {} : { delayMs }) } as const;
  try {
    return { ...base, ...restarts.schedule(wanted), reason: "update.run", scheduled: true };
  } catch (error) {
    if (!isGatewayError(error)) log.error({ err: error }, "a restart could not be scheduled");
    const why = isGatewayError(error) ? messageOf(error) : "the restart could not be scheduled";
    const reason = `update.run: updated; restart the gateway by hand for it to take effect: ${why}`;
    return { ...base, delayMs: 0, coalesced: false, cooldownMsApplied: 0, reason, scheduled: false };
  }
}
