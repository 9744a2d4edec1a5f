/**
 * The catalogue of `details.code`: which refusal it is, finer than `error.code` and for programs. sdk/errors.md is made from it.
 *
 * It has the codes of this tree. Other plugins use codes of their own: `new GatewayError(code, message, { details: { code } })`.
 */
import { type ErrorCode, GatewayError, isGatewayError, type RefusalOptions } from "./gateway-error.ts";

/** What a `details.code` means. */
export interface DetailEntry {
  /** `error.code` of the refusal. Denials of a plugin may carry another one. */
  readonly error: ErrorCode;
  /** Who refuses: `host`, `sdk` (within the client's process), `kit`, or ids of plugins. */
  readonly by: readonly string[];
  /** When it is sent, one sentence. */
  readonly when: string;
  /** What to do about it. A refused `connect` carries it as `details.nextStep`. */
  readonly next: string;
}

type Meaning = (when: string, next: string) => DetailEntry;

function from(error: ErrorCode, ...by: readonly string[]): Meaning {
  return (when, next) => ({ error, by, when, next });
}

const host = from("INVALID_REQUEST", "host");
const nodes = from("INVALID_REQUEST", "nodes");
const approvals = from("INVALID_REQUEST", "approvals");
const outbound = from("INVALID_REQUEST", "outbound");
const sessions = from("INVALID_REQUEST", "sessions");
const publicApi = from("INVALID_REQUEST", "http-chat");

const TOKEN =
  "on the gateway's machine: svc gateway token; connect with what it prints (--token, or SVC_GATEWAY_TOKEN)";
const PASSWORD = "connect with the gateway's password (--password, or SVC_GATEWAY_PASSWORD)";
const BECOME_KNOWN = "svc pairing join --url <url of the gateway> --token <token>; svc gateway token prints it there";
const NEW_KEY = "connect again; if it stays so, move identity/device.json of the client away, then: svc pairing join";
const ASK_ANEW = "ask anew with exec.approval.request";

/** Every `details.code` that this tree sends, by code. */
export const DETAIL_CODES = {
  // A refused `connect`. Spec: protocol/frames-and-connect.md §5-§9.
  CONNECT_FIRST: host(
    "The first request of a connection is not `connect`.",
    "send connect as the first request, with what connect.challenge brought",
  ),
  CONNECT_PARAMS_INVALID: host(
    "The params of `connect` do not match their schema.",
    "correct the params of connect, or update the client",
  ),
  ROLE_INVALID: host("`connect` asks for a role that does not exist.", 'connect with role "operator" or "node"'),
  ORIGIN_NOT_ALLOWED: host(
    "The page that connects comes from an origin that is not allowed.",
    "on the gateway's machine: svc config set gateway.controlUi.allowedOrigins '[\"<origin of the page>\"]'",
  ),
  PROTOCOL_MISMATCH: from("PROTOCOL_MISMATCH", "host")(
    "Client and gateway have no protocol version in common; `details.expectedProtocol` is the gateway's.",
    "update whichever of the client and the gateway is older",
  ),
  AUTH_REQUIRED: host("The connection carries no credential, and the gateway requires one.", TOKEN),
  AUTH_UNAUTHORIZED: host(
    "The proxy vouches for no allowed user, or the credential was revoked or replaced.",
    "log in at the proxy, or on the gateway's machine: svc devices list",
  ),
  AUTH_TOKEN_MISSING: host("The gateway requires its token, and none was sent.", TOKEN),
  AUTH_TOKEN_MISMATCH: host("The token is not the gateway's.", TOKEN),
  AUTH_TOKEN_NOT_CONFIGURED: host(
    "The gateway is in mode `token` and has no token.",
    "on the gateway's machine: svc config set gateway.auth.token <token>",
  ),
  AUTH_PASSWORD_MISSING: host("The gateway requires its password, and none was sent.", PASSWORD),
  AUTH_PASSWORD_MISMATCH: host("The password is not the gateway's.", PASSWORD),
  AUTH_PASSWORD_NOT_CONFIGURED: host(
    "The gateway is in mode `password` and has no password.",
    "on the gateway's machine: svc config set gateway.auth.password <password>",
  ),
  AUTH_DEVICE_TOKEN_MISMATCH: host(
    "The device token was revoked, was replaced, or does not cover the scopes asked for.",
    BECOME_KNOWN,
  ),
  AUTH_RATE_LIMITED: host(
    "This address failed to authenticate too often.",
    "wait until the lock is over (5 minutes, or gateway.auth.rateLimit.lockoutMs), then use the right credential; on the gateway's machine svc devices list works meanwhile",
  ),
  DEVICE_IDENTITY_REQUIRED: from("NOT_PAIRED", "host")(
    "The client proves no device and has no secret of the gateway.",
    "on the gateway's machine: svc gateway token; connect with what it prints (--token, or SVC_GATEWAY_TOKEN), or give this machine a token of its own: svc pairing join --url <url of the gateway> --token <token>",
  ),
  CONTROL_UI_DEVICE_IDENTITY_REQUIRED: host(
    "The control panel runs in a page that cannot keep a device key.",
    "open the panel over HTTPS, or at http://localhost on the gateway's machine",
  ),
  PAIRING_REQUIRED: from(
    "NOT_PAIRED",
    "host",
    "devices",
  )(
    "The device waits for an approval; `details.requestId` is the request, `details.reason` why.",
    "on the gateway's machine: svc devices list, then svc devices approve <request id>",
  ),
  PAIRING_REJECTED: from("NOT_PAIRED", "devices")(
    "`svc pairing join` waited for a request that was rejected or dropped; never sent by a gateway.",
    "ask the people who run the gateway, then: svc pairing join",
  ),
  DEVICE_AUTH_SIGNATURE_EXPIRED: host(
    "The device signed at a time more than two minutes off the gateway's clock.",
    "set the clock of the client; it is more than two minutes off",
  ),
  DEVICE_AUTH_DEVICE_ID_MISMATCH: host("The device id is not the hash of the device's public key.", NEW_KEY),
  DEVICE_AUTH_NONCE_REQUIRED: host(
    "The device signed no challenge.",
    "sign the nonce of connect.challenge, or update the client",
  ),
  DEVICE_AUTH_NONCE_MISMATCH: host(
    "The device signed the challenge of another connection.",
    "connect again; each connection has a challenge of its own",
  ),
  DEVICE_AUTH_SIGNATURE_INVALID: host("The signature does not match the device's public key.", NEW_KEY),
  DEVICE_AUTH_PUBLIC_KEY_INVALID: host("The device's public key is not an Ed25519 key.", NEW_KEY),
  CONNECT_DENIED: host(
    "A plugin denied the connection and gave no details.",
    "on the gateway's machine: svc plugins list; a plugin turned the connection down",
  ),
  UNREACHABLE: from("UNAVAILABLE", "sdk")(
    "The client could not connect; made within the client's process, never sent by a gateway.",
    "svc gateway run, or connect to another URL",
  ),

  TLS_UNTRUSTED: from("INVALID_REQUEST", "sdk")(
    "The client does not trust the gateway's certificate; made within the client's process.",
    "--tls-fingerprint <sha256>, which svc gateway status on the gateway's machine shows",
  ),
  TLS_FINGERPRINT_MISMATCH: from("INVALID_REQUEST", "sdk")(
    "The gateway's certificate is not the one the client was told to trust; made within the client's process.",
    "svc gateway status on the gateway's machine shows the fingerprint; where it differs, this is another gateway",
  ),

  // Any method call. Spec: protocol/authorization.md §1.
  UNKNOWN_METHOD: host(
    "No plugin in use serves the method. `details.plugin` names one that is not in use and would; `details.didYouMean` names a method with nearly this name.",
    "svc plugins why <plugin>, or svc gateway methods",
  ),
  TOO_MANY_CALLS: from("UNAVAILABLE", "host")(
    "Too many calls of this connection (64) wait for their answers.",
    "wait for answers, or for `retryAfterMs`, then call again; long work belongs on a connection of its own",
  ),
  UNAUTHORIZED_ROLE: host(
    "The method is not for the role of this connection.",
    "call it over a connection with the other role",
  ),
  MISSING_SCOPE: from(
    "INVALID_REQUEST",
    "host",
    "devices",
  )(
    "The method, or what is to be approved, needs a scope the caller does not have: `details.scope`.",
    "connect with a credential that has the scope",
  ),
  GATEWAY_STOPPING: from("UNAVAILABLE", "agents")(
    "The gateway is stopping and begins no new run; a run that was accepted begins after the restart.",
    "connect again after `retryAfterMs` and send the same request",
  ),
  FILE_LOCKED: from("UNAVAILABLE", "sdk")(
    "Another process held the lock of a file all the time.",
    "try again, or end the process that the message names",
  ),

  // Webhooks and installing plugins.
  WEBHOOK_DENIED: from("UNAVAILABLE", "host")(
    "A plugin denied the action of a webhook and gave no details.",
    "svc plugins list; one of them taps webhookBefore",
  ),
  AGREEMENT_NEEDED: from("INVALID_REQUEST", "plugins")(
    "Nobody agreed to what the plugin asks for, `details.summary`.",
    "read the summary, then install again with `agree` set to details.agree",
  ),
  INSTALL_FAILED: from("INVALID_REQUEST", "plugins")(
    "An install, update or removal failed at the step `details.step`; nothing was changed.",
    "do what the message says",
  ),
  NOT_INSTALLED: from("NOT_FOUND", "plugins")("No plugin of this id was installed.", "svc plugins list"),

  // Nodes and approvals. Spec: protocol/methods-node.md §4.
  NOT_CONNECTED: from("UNAVAILABLE", "nodes")("The node is known and not connected.", "on the node: svc node run"),
  TOO_MANY_PENDING: from("UNAVAILABLE", "nodes")(
    "The node works on as many commands as it may at once.",
    "call again when one of them has ended",
  ),
  COMMAND_NOT_DECLARED: nodes("The node does not offer the command.", "svc nodes describe <node id>"),
  NO_POLICY_FILE: from("UNAVAILABLE", "nodes")(
    "The node keeps no file that says what it may run.",
    "call system.run; the node decides by itself",
  ),
  MISSING_COMMAND: nodes("`system.run` has no `command`.", "send command as an array of strings"),
  INVALID_PARAM: from(
    "INVALID_REQUEST",
    "nodes",
    "sessions",
  )("`details.param` has a value that is not accepted.", "send one of the values that the message lists"),
  RAW_COMMAND_MISMATCH: from(
    "INVALID_REQUEST",
    "nodes",
    "approvals",
  )("`rawCommand` is not the text of the command.", "leave rawCommand out, or send the text that the message quotes"),
  MISSING_RUN_ID: from(
    "INVALID_REQUEST",
    "nodes",
    "approvals",
  )("A command claims to be approved and has no `runId`.", "send the id of the approval as runId"),
  APPROVALS_UNAVAILABLE: nodes(
    "A command claims to be approved, and the plugin `approvals` does not run.",
    "svc plugins why approvals",
  ),
  SESSION_ASKS: from("FORBIDDEN", "nodes")(
    "A setting of the session wants people asked before the program runs, and they were not.",
    "ask with exec.approval.request, then send approved and runId with the same command",
  ),
  UNKNOWN_APPROVAL_ID: approvals("There is no approval of this id.", ASK_ANEW),
  APPROVAL_EXPIRED: approvals("The approval expired.", ASK_ANEW),
  APPROVAL_REQUIRED: approvals("The command was not allowed, or was allowed once and has run.", ASK_ANEW),
  APPROVAL_NODE_BINDING_MISSING: approvals("The approval is for no node.", `${ASK_ANEW} and host node`),
  APPROVAL_NODE_MISMATCH: approvals("The approval is for another node.", ASK_ANEW),
  APPROVAL_DEVICE_MISMATCH: approvals("Another device asked for the approval.", ASK_ANEW),
  APPROVAL_CLIENT_MISMATCH: approvals("Another client asked for the approval.", ASK_ANEW),
  APPROVAL_REQUEST_MISMATCH: approvals("The approval is for another command.", ASK_ANEW),
  APPROVAL_ENV_BINDING_MISSING: approvals("The approval is for no added environment variables.", ASK_ANEW),
  APPROVAL_ENV_MISMATCH: approvals("The approval is for other environment variables.", ASK_ANEW),
  NOT_AN_APPROVER: approvals(
    "The caller is not among those who decide.",
    "ask one of those that approvals.approvers lists, or let an admin add your device id",
  ),

  // Agents and sessions.
  UNKNOWN_AGENT: from("NOT_FOUND", "agents")("No agent of this id is configured.", "svc agents list"),
  UNKNOWN_MODEL: sessions("No configured model matches the reference.", "svc models list"),
  MODEL_NOT_ALLOWED: sessions("The model exists, and the allowlist of models leaves it out.", "svc models list"),
  THINKING_NOT_SUPPORTED: sessions(
    "The model of the session does not support the thinking level.",
    "use the level that the message names, or choose another model: svc models list",
  ),
  MAIN_SESSION: sessions("The main session cannot be deleted.", "svc sessions reset <key>"),

  // Fetching from outside.
  URL_INVALID: outbound("What is to be fetched is not an http(s) URL in its usual spelling.", "correct the URL"),
  HOST_NOT_ALLOWED: outbound("The host is not among those that may be asked.", "add the host to the allowlist"),
  ADDRESS_NOT_PUBLIC: outbound("The host has an address that is not public.", "ask a public host"),
  TOO_MANY_REDIRECTS: outbound("The server redirects more often than is followed.", "use the URL it leads to"),
  REDIRECT_INVALID: outbound("The server redirects in a circle, or to no URL.", "use another URL"),
  TOO_LARGE: outbound("The answer is larger than the limit.", "fetch less, or raise the limit"),

  // The `error.code` of the OpenAI-compatible HTTP endpoints. Spec: http/chat-completions.md §7, http/responses.md §8.
  model_not_found: from(
    "NOT_FOUND",
    "kit",
    "http-chat",
  )("The request names an agent or a model that is not there.", "GET /v1/models lists those there are"),
  invalid_value: publicApi("`error.param` has a value that is not accepted.", "do what the message says"),
  unsupported_value: publicApi(
    "`error.param` has a value of the public API that the gateway does not offer.",
    "do what the message says",
  ),
  missing_required_parameter: publicApi("A required field is not there: `error.param`.", "send the field"),
  unknown_parameter: publicApi("The request has a field that does not exist.", "leave the field out"),
  unsupported_parameter: publicApi(
    "The request has a field of the public API that the gateway does not offer.",
    "leave the field out",
  ),
  previous_response_not_found: from("INVALID_REQUEST", "http-responses")(
    "The response to continue from is not kept.",
    "send the whole conversation",
  ),
} as const satisfies Readonly<Record<string, DetailEntry>>;

/** A code of the catalogue. */
export type DetailCode = keyof typeof DETAIL_CODES;

/**
 * A refusal with a `details.code`; the catalogue has its `error.code`.
 * @param particulars further fields of `details`
 */
export function refusal(
  code: DetailCode,
  message: string,
  particulars: object = {},
  options: Omit<RefusalOptions, "details"> = {},
): GatewayError {
  return new GatewayError(DETAIL_CODES[code].error, message, { ...options, details: { code, ...particulars } });
}

/** The `details.code` of a refusal; `undefined` where it has none, or one that is not in the catalogue. */
export function detailsCode(error: unknown): DetailCode | undefined {
  if (!isGatewayError(error)) return undefined;
  const { code } = Object(error.details) as { readonly code?: unknown };
  return isDetailCode(code) ? code : undefined;
}

function isDetailCode(code: unknown): code is DetailCode {
  return typeof code === "string" && Object.hasOwn(DETAIL_CODES, code);
}

/** `details` of a refused `connect` with `nextStep` from the catalogue, unless they have one. */
export function withNextStep(details: unknown): unknown {
  const { code, nextStep } = Object(details) as { readonly code?: unknown; readonly nextStep?: unknown };
  if (nextStep !== undefined || !isDetailCode(code)) return details;
  return { ...(details as object), nextStep: DETAIL_CODES[code].next }; // it has a key, so it is an object
}
