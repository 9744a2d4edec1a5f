/** The tool `browser`: the routes of the browser control by action, with results marked as external content. */
import {
  GATEWAY_WORDS,
  GatewayError,
  invalidRequest,
  isGatewayError,
  outsideOrigin,
  type Static,
  Strict,
  Type,
} from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { wrapExternalContent } from "@svc/sdk/external-content";
import { defineTool, type Tool, type ToolCall, type ToolEffect, type ToolResult } from "@svc/sdk/tools";
import { ProfileName } from "./config.ts";
import type { ControlCall } from "./control.ts";
import type { Answered, Asker, RequestParams } from "./request.ts";

interface Action {
  readonly method: ControlCall["method"];
  /** `:kind` and the like are taken from the options. */
  readonly path: string;
  /** `reads` without any. */
  readonly effects?: readonly ToolEffect[];
  /** The result has no text of a page; that of a node may have any. */
  readonly isOwn?: boolean;
}

const get = (path: string): Action => ({ method: "GET", path });
const acts = (path: string): Action => ({ method: "POST", path, effects: ["sends-out"] });
const keeps = (path: string): Action => ({ method: "POST", path, effects: ["writes-workspace"] });
const own = (action: Action): Action => ({ ...action, isOwn: true });

const ACTIONS: Readonly<Record<string, Action>> = {
  status: own(get("/")),
  profiles: own(get("/profiles")),
  start: own({ method: "POST", path: "/start" }),
  stop: own({ method: "POST", path: "/stop" }),
  "create-profile": own(keeps("/profiles/create")),
  "delete-profile": own({ method: "DELETE", path: "/profiles/:name", effects: ["changes-gateway"] }),
  "reset-profile": own({ method: "POST", path: "/reset-profile", effects: ["changes-gateway"] }),
  tabs: get("/tabs"),
  open: acts("/tabs/open"),
  navigate: acts("/navigate"),
  focus: { method: "POST", path: "/tabs/focus" },
  close: { method: "DELETE", path: "/tabs/:targetId" },
  snapshot: get("/snapshot"),
  screenshot: { method: "POST", path: "/screenshot" },
  pdf: { method: "POST", path: "/pdf" },
  highlight: { method: "POST", path: "/highlight" },
  act: acts("/act"),
  upload: acts("/hooks/file-chooser"),
  dialog: acts("/hooks/dialog"),
  download: acts("/download"),
  "wait-download": { method: "POST", path: "/wait/download" },
  "response-body": { method: "POST", path: "/response/body" },
  console: get("/console"),
  errors: get("/errors"),
  requests: get("/requests"),
  "trace-start": { method: "POST", path: "/trace/start" },
  "trace-stop": { method: "POST", path: "/trace/stop" },
  cookies: get("/cookies"),
  "cookies-set": keeps("/cookies/set"),
  "cookies-clear": keeps("/cookies/clear"),
  storage: get("/storage/:kind"),
  "storage-set": keeps("/storage/:kind/set"),
  "storage-clear": keeps("/storage/:kind/clear"),
  set: keeps("/set/:setting"),
};

const MAX_TEXT = 90_000;
const MAX_SNAPSHOT = 40_000;

const DESCRIPTION = `Controls a web browser: opens pages, reads them as text with references (e1, e2 ...), and acts on elements by reference.
Usual order: open (url) -> snapshot -> act -> snapshot. References belong to the newest snapshot.
act takes request: {kind, ...}: click|dblclick|hover|scroll {ref}; type {ref, text, submit?, slowly?}; press {key, ref?}; select {ref, values};
fill {fields: [{ref, value}]}; drag {startRef, endRef}; upload {ref, paths}; resize {width, height}; wait {timeMs?|text?|textGone?|url?|selector?|loadState?}; evaluate {fn, ref?} (if enabled).
Keys in options: snapshot {format, interactive, maxChars, depth, labels, mode}; screenshot {type, fullPage, quality}; upload {paths}: for the next file chooser, or that of ref;
dialog {accept, promptText}: answer to the next dialog, before the action that shows it; download: clicks ref and waits; wait-download; response-body {url}: part of its URL;
console {level, limit}; requests {filter, limit}; cookies-set {cookie}; storage {kind: local|session, key}; storage-set {kind, key, value};
set {setting: offline|headers|credentials|geolocation|media|timezone|locale|device, ...}; create-profile, delete-profile {name}.`;

const Params = Strict({
  action: Type.Enum(Object.keys(ACTIONS)),
  profile: Type.Optional(ProfileName),
  targetId: Type.Optional(Type.String({ maxLength: 40, description: "Tab; default: the current one" })),
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 8_000, description: "For open and navigate" })),
  ref: Type.Optional(Type.String({ maxLength: 20, description: "Element of the newest snapshot" })),
  selector: Type.Optional(Type.String({ maxLength: 2_000, description: "Instead of ref: a CSS selector" })),
  request: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "For act" })),
  options: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "Further keys of the action" })),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 120_000, description: "Default 30000" })),
});
type Params = Static<typeof Params>;

/** Calls a route for the session of the call; it may upload from the workspace of its agent. */
export type AskBrowser = (
  call: ToolCall,
  params: RequestParams,
  asker: Pick<Asker, "principal" | "signal">,
) => Promise<Answered>;

export function createBrowserTool(ask: AskBrowser): Tool {
  return defineTool({
    label: "Browser",
    description: DESCRIPTION,
    params: Params,
    scope: "operator.write",
    effects(params, { seen }) {
      const { action } = params;
      const { effects = ["reads"] } = ACTIONS[action] ?? {};
      const { url, kind, fn, setting } = keysOf(params);
      if (action === "open" || action === "navigate")
        return url === undefined || (typeof url === "string" && seen.includes(url)) ? ["reads"] : effects;
      if (action === "act" && (kind === "evaluate" || fn !== undefined)) return ["sends-out", "runs-code"];
      if (action === "act" && (kind === "wait" || kind === "hover" || kind === "scroll" || kind === "resize"))
        return ["reads"];
      return action === "set" && setting === "headers" ? ["sends-out"] : effects;
    },
    brings: "web",
    async run(params, { call, principal, signal }) {
      const { action: name, options, timeoutMs } = params;
      const action = ACTIONS[name] ?? invalidRequest(`there is no action ${name}`);
      const given = { ...keysOf(params), ...defaultsOf(name, options) };
      const path = action.path.replace(/:(\w+)/g, (_, key: string) => {
        const value = given[key];
        if (typeof value !== "string" || value === "") return invalidRequest(`${name} needs ${key}`);
        if (key === "setting") delete given[key];
        return encodeURIComponent(value);
      });
      const keys = action.method === "POST" ? { body: given } : { query: given };
      const wait = timeoutMs === undefined ? {} : { timeoutMs };
      try {
        const answered = await ask(call, { method: action.method, path, ...keys, ...wait }, { principal, signal });
        return resultOf(name, action, answered);
      } catch (error) {
        throw isGatewayError(error) ? marked(error) : error;
      }
    },
  });
}

/** The keys of the route, wherever the model wrote them. */
function keysOf(params: Params): Record<string, unknown> {
  const { action: _, options, request, ...common } = params;
  return { ...options, ...request, ...common };
}

/** Pages choose a part of what a browser reports, e.g. the message of an exception. */
function marked(error: GatewayError): GatewayError {
  const { reported, nodeError } = Object(error.details) as Readonly<Record<string, unknown>>;
  const words = nodeError === undefined ? reported : error.message;
  if (typeof words !== "string") return error;
  const message = `the browser reports:\n${wrapExternalContent(words, { source: "browser" })}`;
  return new GatewayError(error.code, message, { cause: error });
}

function defaultsOf(name: string, options: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  if (name === "screenshot") return { inline: true, type: options["type"] ?? "jpeg" };
  return name === "snapshot" && options["maxChars"] === undefined && options["mode"] === undefined
    ? { maxChars: MAX_SNAPSHOT }
    : {};
}

function resultOf(name: string, { isOwn = false }: Action, { result, nodeId }: Answered): ToolResult {
  const { base64, snapshot, ...facts } = Object(result) as Record<string, unknown>;
  const { mimeType } = facts;
  const url = typeof facts["url"] === "string" ? facts["url"] : undefined;
  const json = JSON.stringify(typeof result === "object" && result !== null ? facts : result, undefined, 1);
  const text = cut(typeof snapshot === "string" ? `${json}\n${snapshot}` : json, MAX_TEXT);
  const image =
    typeof base64 === "string"
      ? [{ type: "image" as const, data: base64, mimeType: typeof mimeType === "string" ? mimeType : "image/png" }]
      : [];
  const details = typeof snapshot === "string" ? { ...facts, snapshot } : facts;
  if (isOwn && nodeId === undefined) return { content: [{ type: "text", text }], origin: GATEWAY_WORDS, details };
  const shown = wrapExternalContent(text, { source: "browser", ...(url ? { from: url } : {}), subject: name });
  return { content: [{ type: "text", text: shown }, ...image], origin: outsideOrigin("web", url), details };
}
