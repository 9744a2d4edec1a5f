/** The tool `gateway`: an agent of the gateway's owner shows its state, changes its configuration, and restarts it. */
import {
  type Clock,
  CONTROL_PLANE_WRITES,
  invalidRequest,
  type Method,
  notFound,
  type ParamsOf,
  type Principal,
  type ResultOf,
  type Static,
  Strict,
  Type,
  unavailable,
} from "@svc/sdk";
import { valueAt } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import type { GatewayInfo, RestartNote, Restarts } from "@svc/sdk/gateway";
import { defineTool, type Tool, type ToolResult } from "@svc/sdk/tools";
import { partsOf, schemaAt } from "./at-path.ts";
import { createBudget } from "./budget.ts";
import type { Sentinel } from "./sentinel.ts";

export interface GatewayToolSources {
  readonly info: GatewayInfo;
  readonly restarts: Restarts;
  readonly sentinel: Pick<Sentinel, "keep">;
  /** Calls a method of this gateway on behalf of a principal. */
  call<M extends Method>(method: M, params: ParamsOf<M>, options: { principal: Principal }): Promise<ResultOf<M>>;
  readonly clock: Pick<Clock, "now" | "elapsed">;
}

const optionalText = (description: string) => Type.Optional(Type.String({ description }));
const ACTIONS = ["status", "config.get", "config.schema", "config.patch", "config.apply", "restart"] as const;

const Params = Strict({
  action: optionalText(ACTIONS.join(", ")),
  path: optionalText("for config.get and config.schema: only this part, e.g. `agents.defaults`"),
  raw: optionalText(
    "for config.patch: the values to merge into the file (JSON5, `null` deletes); for config.apply: the whole file",
  ),
  baseHash: optionalText(
    "for config.patch and config.apply: the `hash` that config.get returned with the part to change",
  ),
  note: optionalText("message for this session once the change is in effect, or after the restart"),
  delayMs: Type.Optional(Type.Integer({ minimum: 0, description: "milliseconds until a restart; default 2000" })),
  reason: optionalText("reason for the restart, for the log"),
});

/** A call of the tool. */
interface Asked {
  readonly params: Static<typeof Params>;
  readonly sessionKey: string;
  readonly principal: Principal;
}

type Answer = Promise<ToolResult> | ToolResult;

export function gatewayTool(sources: GatewayToolSources): Tool {
  // The methods limit calls per connection, and a tool has no connection.
  const take = createBudget(CONTROL_PLANE_WRITES, sources.clock);
  const actions: Readonly<Record<(typeof ACTIONS)[number], (asked: Asked) => Answer>> = {
    status: () => status(sources),
    "config.get": (asked) => get(asked, sources),
    "config.schema": (asked) => schema(asked, sources),
    "config.patch": (asked) => write(config.patch, asked, sources, take),
    "config.apply": (asked) => write(config.apply, asked, sources, take),
    restart: (asked) => restart(asked, sources, take),
  };
  return defineTool({
    description:
      "Shows the state of the gateway, reads and changes its configuration, and restarts it. Read the part to change and its schema " +
      "first; a change needs the hash of the configuration that was read.",
    params: Params,
    scope: "operator.admin",
    ownerOnly: true,
    effects: ["changes-gateway"],
    brings: "none",
    async run(params, { call: { sessionKey }, principal }) {
      const wanted = params.action?.trim() ?? "";
      if (wanted === "") return invalidRequest("action required");
      const action = ACTIONS.find((name) => name === wanted);
      if (!action) return invalidRequest(`unknown action "${wanted}"; actions: ${ACTIONS.join(", ")}`);
      return actions[action]({ params, sessionKey, principal });
    },
  });
}

function status({ info, restarts, clock }: GatewayToolSources): ToolResult {
  const { version, startedAt, url, authMode, configPath } = info;
  const plugins = info.plugins().map(({ id, version: its, state, reason }) => ({
    id,
    version: its,
    state,
    ...(reason === undefined ? {} : { reason }),
  }));
  return resultOf({
    version,
    startedAt,
    uptimeMs: clock.now() - startedAt,
    ...(url === undefined ? {} : { url }),
    authMode,
    configPath,
    connections: info.connections().length,
    restartPossible: restarts.possible,
    plugins,
  });
}

async function get({ params: { path = "" }, principal }: Asked, { call }: GatewayToolSources): Promise<ToolResult> {
  const snapshot = await call(config.get, {}, { principal });
  const { parsed, hash, valid, issues, warnings } = snapshot;
  const parts = partsOf(path);
  if (parts.length > 0) {
    const value = valueAt(snapshot.config, parts);
    return resultOf({ path: parts.join("."), hash, value: value ?? null });
  }
  return resultOf(snapshot, { path: snapshot.path, hash, valid, issues, warnings, parsed });
}

async function schema({ params: { path = "" }, principal }: Asked, { call }: GatewayToolSources): Promise<ToolResult> {
  const all = await call(config.schema, {}, { principal });
  const parts = partsOf(path);
  if (parts.length === 0) {
    const keys = Object.keys((valueAt(all.schema, ["properties"]) as object | undefined) ?? {}); // an object, or undefined
    return resultOf(all, { version: all.version, keys, next: "call again with path for the schema of one of them" });
  }
  const part =
    schemaAt(all.schema, parts) ??
    notFound(`the configuration has no path "${parts.join(".")}"; call without path for the keys`);
  return resultOf({ path: parts.join("."), version: all.version, schema: part });
}

async function write(
  method: typeof config.patch | typeof config.apply,
  { params, sessionKey, principal }: Asked,
  { call }: GatewayToolSources,
  take: (what: string) => void,
): Promise<ToolResult> {
  take(method.name);
  const { raw = "", baseHash, note, delayMs } = params;
  if (raw.trim() === "") return invalidRequest("raw required");
  const written = await call(
    method,
    {
      raw,
      sessionKey,
      ...(baseHash === undefined ? {} : { baseHash }),
      ...(note === undefined ? {} : { note }),
      ...(delayMs === undefined ? {} : { restartDelayMs: delayMs }),
    },
    { principal },
  );
  const { hash, changed, restart: planned } = written;
  return resultOf(written, { ok: true, hash, changed, restart: planned });
}

async function restart(
  { params: { delayMs, note, reason }, sessionKey }: Asked,
  { restarts, sentinel, clock }: GatewayToolSources,
  take: (what: string) => void,
): Promise<ToolResult> {
  take("restart");
  if (!restarts.possible) return unavailable("this gateway cannot restart itself; restart it by hand");
  const payload: RestartNote = {
    kind: "restart",
    status: "ok",
    ts: clock.now(),
    sessionKey,
    message: note ?? null,
    stats: { mode: "gateway.restart", reason: reason ?? null },
  };
  await sentinel.keep(payload); // on disk before the restart can begin
  const why = reason?.trim() ? `tool: ${reason.trim().slice(0, 200)}` : "tool";
  return resultOf({ ok: true, ...restarts.schedule({ reason: why, ...(delayMs === undefined ? {} : { delayMs }) }) });
}

/** @param shown the part of the result that a model reads; default: the whole result */
function resultOf(details: object, shown: object = details): ToolResult {
  return { content: [{ type: "text", text: JSON.stringify(shown) }], details };
}
