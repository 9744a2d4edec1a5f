/** `config.set`, `config.patch`, `config.apply`: writing, restarting and notifying. Spec: protocol/methods-config.md §3. */
import {
  type Clock,
  type Handlers,
  isGatewayError,
  type Logger,
  type ParamsOf,
  type Principal,
  type ResultOf,
} from "@svc/sdk";
import { config, type ConfigStore, type ConfigWritten } from "@svc/sdk/config";
import type { RestartNote, Restarts } from "@svc/sdk/gateway";
import type { Note } from "./note.ts";
import type { Sentinel } from "./sentinel.ts";

export interface WritesOptions {
  readonly store: ConfigStore;
  readonly restarts: Restarts;
  readonly sentinel: Sentinel;
  /** Posts a note to its session now. Never rejects. */
  post(note: Note): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

type RestartMethod = "config.patch" | "config.apply";
type WriteParams = ParamsOf<typeof config.set> & Pick<ParamsOf<typeof config.patch>, "replaceLists">;
type Params = ParamsOf<typeof config.patch>;
type Result = ResultOf<typeof config.patch>;

export function createWrites(options: WritesOptions): Pick<Handlers<typeof config>, "set" | "patch" | "apply"> {
  const write = (
    action: string,
    mode: "replace" | "patch",
    { raw, baseHash, replaceLists }: WriteParams,
    principal: Principal,
  ) => {
    const restartsItself = action !== "config.set"; // see followUp
    return options.store.write({
      actor: principal.id,
      action,
      mode,
      raw,
      restartsItself,
      ...(baseHash ? { baseHash } : {}),
      ...(replaceLists === undefined ? {} : { replaceLists }),
    });
  };
  return {
    set: async ({ params, principal }) => shown(await write("config.set", "replace", params, principal)),
    async patch({ params, principal }) {
      const written = await write("config.patch", "patch", params, principal);
      return { ...shown(written), ...(await followUp("config.patch", params, written, options)) };
    },
    async apply({ params, principal }) {
      const written = await write("config.apply", "replace", params, principal);
      return { ...shown(written), ...(await followUp("config.apply", params, written, options)) };
    },
  };
}

function shown({ path, config: value, hash, changed }: ConfigWritten) {
  return { ok: true as const, path, config: value, hash, changed };
}

/**
 * Runs after the write: schedules a restart if a changed key needs a restart, and posts the note after the restart or
 * now. Never rejects.
 */
async function followUp(
  method: RestartMethod,
  { note, sessionKey, restartDelayMs }: Params,
  written: ConfigWritten,
  options: WritesOptions,
): Promise<Pick<Result, "restart" | "sentinel">> {
  const { restarts, sentinel, post, clock, log } = options;
  const toPost: Note = { message: note ?? null, ...(sessionKey ? { sessionKey } : {}) };
  const payload: RestartNote = {
    kind: method === "config.patch" ? "config-patch" : "config-apply",
    status: "ok",
    ts: clock.now(),
    ...toPost,
    doctorHint: "Run: svc config validate",
    stats: { mode: method, root: written.path },
  };
  const restart = { ok: true, pid: process.pid, signal: "SIGUSR1", mode: "emit" } as const;
  const none = { delayMs: 0, coalesced: false, cooldownMsApplied: 0, scheduled: false };
  const wanted = written.reload === "restart";
  const kept = wanted && restarts.possible && (await keep(payload, options));
  const result = wanted ? schedule(method, restartDelayMs, restarts, log) : method;
  if (!kept) await post(toPost); // no restart is due, or the note could not be stored until after the restart
  return {
    restart:
      typeof result === "string"
        ? { ...restart, ...none, reason: result }
        : { ...restart, ...result, reason: method, scheduled: true },
    sentinel: { path: kept ? sentinel.path : null, payload },
  };
}

/** Stores the note on disk before the restart can begin. @returns whether it is stored */
async function keep(payload: RestartNote, { sentinel, log }: WritesOptions): Promise<boolean> {
  try {
    await sentinel.keep(payload);
    return true;
  } catch (error) {
    log.warn({ err: error, path: sentinel.path }, "the note cannot be stored for after the restart; it is posted now");
    return false;
  }
}

/** @returns the restart, or why there is none and the next step */
function schedule(method: RestartMethod, delayMs: number | undefined, restarts: Restarts, log: Logger) {
  try {
    return restarts.schedule({ reason: method, ...(delayMs === undefined ? {} : { delayMs }) });
  } catch (error) {
    if (!isGatewayError(error)) log.error({ err: error }, "a restart could not be scheduled");
    if (isGatewayError(error) && error.retryAfterMs !== undefined)
      return `${method}: written; it takes effect at the next start: the gateway is stopping now`;
    const why = isGatewayError(error) ? error.message : "the restart could not be scheduled";
    return `${method}: written; restart the gateway by hand for it to take effect: ${why}`;
  }
}
