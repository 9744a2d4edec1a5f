/**
 * The generations of the protocol, and all that differs between them. The gateway applies this table where frames enter and leave it, so no
 * method and no plugin knows the generation of a connection. Spec: protocol 4 §1.3, §6.
 */
import type { ErrorShape } from "../gateway-error.ts";

type Fields = Readonly<Record<string, unknown>>;
/** What connections of a generation get in place of a value. It returns the value itself when they are the same. */
type View = (value: Fields) => unknown;

/** One generation. Values without an entry in `errors`, `events` or `results` are the same in each. */
export interface Generation {
  /** Its number on the wire. */
  readonly protocol: number;
  /** Unknown keys of `connect`, and unknown params of methods that only read, are ignored. False: they are refused. */
  readonly ignoresUnknown: boolean;
  /** By `details.code`. `method`: the called one. */
  readonly errors: Readonly<Record<string, (error: ErrorShape, method: string) => ErrorShape>>;
  /** By the name of the event. */
  readonly events: Readonly<Record<string, View>>;
  /** By the name of the method. */
  readonly results: Readonly<Record<string, View>>;
}

/** All but these keys; the value itself when it has none of them. */
function without(...keys: readonly string[]): View {
  return (value) =>
    keys.some((key) => key in value)
      ? Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
      : value;
}

/** What waits for a decision, oldest first, in the form of the event `exec.approval.requested`. */
function pendingOnly({ approvals }: Fields): unknown {
  const pending = (approvals as readonly Fields[]).filter(({ status }) => status === "pending");
  const rows = pending.map(({ id, request, createdAtMs, expiresAtMs }) => ({ id, request, createdAtMs, expiresAtMs }));
  return rows.toSorted((left, right) => Number(left.createdAtMs) - Number(right.createdAtMs));
}

const olderChat = without("agentId", "deltaText", "replace", "usage", "errorKind");
const olderAgent = without("agentId", "sessionId");
const olderLifecycle = without("stopReason");

/** Those that this gateway speaks, newest first. */
export const GENERATIONS: readonly [Generation, Generation] = [
  {
    protocol: 4,
    ignoresUnknown: true,
    errors: {
      // Clients compare the whole text, so what helps people moves to the details.
      UNKNOWN_METHOD(error, method) {
        const details = error.details as Fields;
        const hint = Object.keys(details).length > 1 ? { hint: error.message } : {};
        return { ...error, message: `unknown method: ${method}`, details: { ...details, ...hint } };
      },
      MISSING_SCOPE: (error) => {
        const { scope } = error.details as { readonly scope?: string };
        const details = { ...(error.details as Fields), missingScope: scope, requiredScopes: [scope] };
        return { ...error, code: "FORBIDDEN", details };
      },
      PROTOCOL_MISMATCH: (error) => ({ ...error, code: "INVALID_REQUEST" }),
    },
    events: {},
    results: { "exec.approval.list": pendingOnly },
  },
  {
    protocol: 3,
    ignoresUnknown: false,
    errors: {},
    events: {
      chat: olderChat,
      agent(payload) {
        const { stream, data } = payload;
        const shown = olderAgent(payload) as Fields;
        if (stream !== "lifecycle") return shown;
        const older = olderLifecycle(data as Fields);
        return older === data ? shown : { ...shown, data: older };
      },
    },
    results: { agent: without("sessionKey", "agentId") },
  },
];

/** The newest and the oldest one. */
export const [NEWEST, OLDEST] = GENERATIONS;

/** An error of a method as clients of a generation know it. */
export function errorFor({ errors }: Generation, error: ErrorShape, method: string): ErrorShape {
  const { code } = Object(error.details) as { readonly code?: string };
  const view = code !== undefined && Object.hasOwn(errors, code) ? errors[code] : undefined;
  return view ? view(error, method) : error;
}

/** The payload of an event, or the result of a method, as clients of a generation know it. */
export function valueFor(views: Generation["events"], name: string, value: unknown): unknown {
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  return view && typeof value === "object" && value !== null ? view(value as Fields) : value;
}
