/** `talk.mode`: tells all clients that talk mode changed; nothing is stored. Spec: protocol/methods-talk.md §2. */
import { type ConnectionInfo, describeViolations, invalidRequest, matches, Strict, Type, unavailable } from "@svc/sdk";
import { isWebClient } from "@svc/sdk/protocol";

/** Choice: maximum characters of a phase. */
const MAX_PHASE = 200;

const Params = Strict({
  enabled: Type.Boolean(),
  phase: Type.Optional(Type.String({ maxLength: MAX_PHASE })),
});

const MOBILE = /^(?:ios|ipados|android)/i;

/** @throws GatewayError `UNAVAILABLE`: a web client needs a connected phone, which speaks in its place */
export function requirePhone(caller: ConnectionInfo | undefined, connections: readonly ConnectionInfo[]): void {
  if (!caller?.client || !isWebClient(caller.client)) return;
  const hasPhone = connections.some(
    ({ principal, client }) => principal?.role === "node" && MOBILE.test(client?.platform ?? ""),
  );
  if (!hasPhone) unavailable("talk mode needs a phone: connect a node on iOS or Android; see: svc nodes list");
}

/** @throws GatewayError `INVALID_REQUEST` naming the path */
export function readMode(params: unknown): { readonly enabled: boolean; readonly phase: string | null } {
  if (!matches(Params, params)) invalidRequest(`invalid talk.mode params: ${describeViolations(Params, params)}`);
  return { enabled: params.enabled, phase: params.phase ?? null };
}
