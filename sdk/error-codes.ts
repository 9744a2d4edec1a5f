/**
 * The catalogue of `details.code`, the machine-readable reason of a refusal; finer than `error.code`. sdk/reference/errors.md is
 * generated from it.
 *
 * It lists the codes of this repository. Other plugins define their own codes: `new GatewayError(code, message, {
 * details: { code } })`.
 */
import { type ErrorCode, GatewayError, isGatewayError, type RefusalOptions } from "./gateway-error.ts";

/** Catalogue entry of one `details.code`. */
export interface DetailEntry {
  /** `error.code` of the refusal. A denial by a plugin may carry another one. */
  readonly error: ErrorCode;
  /** Who refuses: `host`, `sdk` (in the process of the client), `kit`, or plugin ids. */
  readonly by: readonly string[];
  /** When the code is sent; one sentence. */
  readonly when: string;
  /** What to do next. A refused `connect` carries it as `details.nextStep`. */
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
const network = from("INVALID_REQUEST", "browser", "outbound");
const sessions = from("INVALID_REQUEST", "sessions");
const publicApi = from("INVALID_REQUEST", "http-chat");

const TOKEN =
  "on the gateway's machine: svc gateway token; then connect with the printed token (--token, or SVC_GATEWAY_TOKEN)";
const PASSWORD = "connect with the gateway's password (--password, or SVC_GATEWAY_PASSWORD)";
const BECOME_KNOWN =
  "svc pairing join --url <url of the gateway> --token <token>; on the gateway's machine, svc gateway token prints the token";
const NEW_KEY =
  "connect again; if the error persists, move identity/device.json of the client away, then: svc pairing join";
const ASK_ANEW = "request a new approval with exec.approval.request";

/** Every `details.code` sent by this repository, by code. */
export const DETAIL_CODES = {
  // A refused `connect`. Spec: protocol/frames-and-connect.md §5-§9.
  CONNECT_FIRST: host(
    "The first request of a connection is not `connect`.",
    "send connect as the first request, with the nonce from connect.challenge",
  ),
  CONNECT_PARAMS_INVALID: host(
    "The params of `connect` do not match its schema.",
    "correct the params of connect, or update the client",
  ),
  ROLE_INVALID: host("`connect` requests a role that does not exist.", 'connect with role "operator" or "node"'),
  ORIGIN_NOT_ALLOWED: host(
    "The origin of the connecting page is not allowed.",
    "on the gateway's machine: svc config set gateway.controlUi.allowedOrigins '[\"<origin of the page>\"]'",
  ),
  PROTOCOL_MISMATCH: from("PROTOCOL_MISMATCH", "host")(
    "Client and gateway share no protocol version; `details.expectedProtocol` is the version of the gateway.",
    "update the client or the gateway, whichever is older",
  ),
  AUTH_REQUIRED: host("The gateway requires a credential, and the connection carries none.", TOKEN),
  AUTH_UNAUTHORIZED: host(
    "The proxy vouches for no allowed user, or the credential was revoked or replaced.",
    "log in at the proxy, or list the devices on the gateway's machine: svc devices list",
  ),
  AUTH_TOKEN_MISSING: host("The gateway requires its token, and none was sent.", TOKEN),
  AUTH_TOKEN_MISMATCH: host("The token does not match the token of the gateway.", TOKEN),
  AUTH_TOKEN_NOT_CONFIGURED: host(
    "The gateway runs in mode `token` but has no token.",
    "on the gateway's machine: svc config set gateway.auth.token <token>",
  ),
  AUTH_PASSWORD_MISSING: host("The gateway requires its password, and none was sent.", PASSWORD),
  AUTH_PASSWORD_MISMATCH: host("The password does not match the password of the gateway.", PASSWORD),
  AUTH_PASSWORD_NOT_CONFIGURED: host(
    "The gateway runs in mode `password` but has no password.",
    "on the gateway's machine: svc config set gateway.auth.password <password>",
  ),
  AUTH_DEVICE_TOKEN_MISMATCH: host(
    "The device token was revoked or replaced, or does not cover the requested scopes.",
    BECOME_KNOWN,
  ),
  AUTH_INVITATION_INVALID: from("INVALID_REQUEST", "devices")(
    "The one-time secret of a sign-in link was used, has expired, or ended with the gateway or the access of whoever created it.",
    "on the gateway's machine: svc dashboard; then open the new link",
  ),
  AUTH_RATE_LIMITED: host(
    "Too many failed authentication attempts from this address.",
    "wait until the lock expires (5 minutes, or gateway.auth.rateLimit.lockoutMs), then use a valid credential; meanwhile svc devices list works on the gateway's machine",
  ),
  DEVICE_IDENTITY_REQUIRED: from("NOT_PAIRED", "host")(
    "The client proves no device and presents no secret of the gateway.",
    "on the gateway's machine: svc gateway token; then connect with the printed token (--token, or SVC_GATEWAY_TOKEN), or give this machine its own token: svc pairing join --url <url of the gateway> --token <token>",
  ),
  CONTROL_UI_DEVICE_IDENTITY_REQUIRED: host(
    "The control panel runs in a page that cannot store a device key.",
    "open the panel over HTTPS, or at http://localhost on the gateway's machine",
  ),
  PAIRING_REQUIRED: from(
    "NOT_PAIRED",
    "host",
    "devices",
  )(
    "The device awaits approval; `details.requestId` is the request, `details.reason` the reason.",
    "on the gateway's machine: svc devices list, then svc devices approve <request id>",
  ),
  PAIRING_REJECTED: from("NOT_PAIRED", "devices")(
    "The request of `svc pairing join` was rejected or dropped; raised by the client, never sent by a gateway.",
    "ask the operator of the gateway, then: svc pairing join",
  ),
  DEVICE_AUTH_SIGNATURE_EXPIRED: host(
    "The timestamp of the device signature differs from the gateway's clock by more than two minutes.",
    "correct the clock of the client; it is off by more than two minutes",
  ),
  DEVICE_AUTH_DEVICE_ID_MISMATCH: host("The device id is not the hash of the public key of the device.", NEW_KEY),
  DEVICE_AUTH_NONCE_REQUIRED: host(
    "The device signed no challenge.",
    "sign the nonce of connect.challenge, or update the client",
  ),
  DEVICE_AUTH_NONCE_MISMATCH: host(
    "The device signed the challenge of another connection.",
    "connect again; each connection has its own challenge",
  ),
  DEVICE_AUTH_SIGNATURE_INVALID: host("The signature does not match the public key of the device.", NEW_KEY),
  DEVICE_AUTH_PUBLIC_KEY_INVALID: host("The public key of the device is not an Ed25519 key.", NEW_KEY),
  CONNECT_DENIED: host(
    "A plugin denied the connection without giving details.",
    "a plugin denied the connection; on the gateway's machine: svc plugins list",
  ),
  UNREACHABLE: from("UNAVAILABLE", "sdk")(
    "The client could not connect; raised by the client, never sent by a gateway.",
    "start the gateway with svc gateway run, or connect to another URL",
  ),

  TLS_UNTRUSTED: from("INVALID_REQUEST", "sdk")(
    "The client does not trust the certificate of the gateway; raised by the client.",
    "pass --tls-fingerprint <sha256>; svc gateway status on the gateway's machine prints the fingerprint",
  ),
  TLS_FINGERPRINT_MISMATCH: from("INVALID_REQUEST", "sdk")(
    "The certificate of the gateway does not match the expected fingerprint; raised by the client.",
    "compare with the fingerprint that svc gateway status prints on the gateway's machine; if they differ, this is another gateway",
  ),

  // Any method call. Spec: protocol/authorization.md §1.
  UNKNOWN_METHOD: host(
    "No running plugin serves the method. `details.plugin` names a plugin that would serve it; `details.didYouMean` names a method with a similar name.",
    "svc plugins why <plugin>, or svc gateway methods",
  ),
  TOO_MANY_CALLS: from("UNAVAILABLE", "host")(
    "Too many calls of this connection (64) are pending.",
    "wait for results, or for `retryAfterMs`, then call again; use a separate connection for long calls",
  ),
  UNAUTHORIZED_ROLE: host(
    "The method is not available to the role of this connection.",
    "call it over a connection with the other role",
  ),
  MISSING_SCOPE: from(
    "INVALID_REQUEST",
    "host",
    "devices",
    "talk",
  )(
    "The method, or the request to be approved, needs a scope that the caller lacks: `details.scope`.",
    "connect with a credential that has the scope",
  ),
  GATEWAY_STOPPING: from("UNAVAILABLE", "agents")(
    "The gateway is stopping and starts no new run; an accepted run starts after the restart.",
    "reconnect after `retryAfterMs` and send the same request",
  ),
  FILE_LOCKED: from("UNAVAILABLE", "sdk")(
    "Another process held the lock of a file for too long.",
    "try again, or end the process named in the message",
  ),

  // Webhooks and installing plugins.
  WEBHOOK_DENIED: from("UNAVAILABLE", "host")(
    "A plugin denied the action of a webhook without giving details.",
    "svc plugins list; look for a plugin that taps webhookBefore",
  ),
  AGREEMENT_NEEDED: from("INVALID_REQUEST", "plugins")(
    "The permissions that the plugin requests have not been agreed to; `details.summary` lists them.",
    "read the summary, then install again with `agree` set to details.agree",
  ),
  INSTALL_FAILED: from("INVALID_REQUEST", "plugins")(
    "An install, update or removal failed at the step `details.step`; nothing was changed.",
    "follow the message",
  ),
  NOT_INSTALLED: from("NOT_FOUND", "plugins")("No plugin with this id is installed.", "svc plugins list"),

  // Nodes and approvals. Spec: protocol/methods-node.md §4.
  NOT_CONNECTED: from("UNAVAILABLE", "nodes")("The node is known but not connected.", "on the node: svc node run"),
  TOO_MANY_PENDING: from("UNAVAILABLE", "nodes")(
    "The node already runs as many commands as it may run at once.",
    "call again when one of them has finished",
  ),
  COMMAND_NOT_DECLARED: nodes("The node does not offer the command.", "svc nodes describe <node id>"),
  NO_POLICY_FILE: from("UNAVAILABLE", "nodes")(
    "The node has no policy file.",
    "call system.run; the node decides by itself",
  ),
  MISSING_COMMAND: nodes("The params of `system.run` have no `command`.", "send command as an array of strings"),
  INVALID_PARAM: from(
    "INVALID_REQUEST",
    "nodes",
    "sessions",
  )("`details.param` has a value that is not allowed.", "send one of the values listed in the message"),
  RAW_COMMAND_MISMATCH: from(
    "INVALID_REQUEST",
    "nodes",
    "approvals",
  )("`rawCommand` is not the text of the command.", "omit rawCommand, or send the text quoted in the message"),
  MISSING_RUN_ID: from(
    "INVALID_REQUEST",
    "nodes",
    "approvals",
  )("A command claims to be approved but has no `runId`.", "send the id of the approval as runId"),
  APPROVALS_UNAVAILABLE: nodes(
    "A command claims to be approved, but the plugin `approvals` is not running.",
    "svc plugins why approvals",
  ),
  SESSION_ASKS: from("FORBIDDEN", "nodes")(
    "A session setting requires approval before the program runs, and none was given.",
    "request approval with exec.approval.request, then send approved and runId with the same command",
  ),
  UNKNOWN_APPROVAL_ID: approvals("No approval has this id.", ASK_ANEW),
  APPROVAL_EXPIRED: approvals("The approval expired.", ASK_ANEW),
  APPROVAL_REQUIRED: approvals("The command was not allowed, or it was allowed once and has already run.", ASK_ANEW),
  APPROVAL_NODE_BINDING_MISSING: approvals("The approval is not bound to a node.", `${ASK_ANEW} and host node`),
  APPROVAL_NODE_MISMATCH: approvals("The approval is for another node.", ASK_ANEW),
  APPROVAL_DEVICE_MISMATCH: approvals("The approval was requested by another device.", ASK_ANEW),
  APPROVAL_CLIENT_MISMATCH: approvals("The approval was requested by another client.", ASK_ANEW),
  APPROVAL_REQUEST_MISMATCH: approvals("The approval is for another command.", ASK_ANEW),
  APPROVAL_ENV_BINDING_MISSING: approvals("The approval covers no added environment variables.", ASK_ANEW),
  APPROVAL_ENV_MISMATCH: approvals("The approval covers other environment variables.", ASK_ANEW),
  NOT_AN_APPROVER: approvals(
    "The caller is not an approver.",
    "ask one of the devices listed in approvals.approvers, or let an admin add your device id",
  ),

  // Agents and sessions.
  UNKNOWN_AGENT: from("NOT_FOUND", "agents")("No agent with this id is configured.", "svc agents list"),
  CRON_JOB_NOT_FOUND: from("NOT_FOUND", "cron")("No scheduled job has this id.", "svc cron list --all"),
  UNKNOWN_MODEL: sessions("No configured model matches the reference.", "svc models list"),
  MODEL_NOT_ALLOWED: sessions("The model exists but is not on the allowlist of models.", "svc models list"),
  THINKING_NOT_SUPPORTED: sessions(
    "The model of the session does not support the thinking level.",
    "use the level named in the message, or choose another model: svc models list",
  ),
  MAIN_SESSION: sessions("The main session cannot be deleted.", "svc sessions reset <key>"),

  // Outbound requests.
  URL_INVALID: outbound("The address is not an http(s) URL in canonical form.", "correct the URL"),
  HOST_NOT_ALLOWED: network("The host is not on the allowlist.", "add the host to the allowlist"),
  ADDRESS_NOT_PUBLIC: network("The host resolves to an address that is not public.", "use a public host"),
  TOO_MANY_REDIRECTS: outbound("The server redirects more often than allowed.", "use the URL it redirects to"),
  REDIRECT_INVALID: outbound("The server redirects in a loop, or to an invalid URL.", "use another URL"),
  TOO_LARGE: outbound("The response is larger than the limit.", "request less data, or raise the limit"),

  // The `error.code` of the OpenAI-compatible HTTP endpoints. Spec: http/chat-completions.md §7, http/responses.md §8.
  model_not_found: from(
    "NOT_FOUND",
    "kit",
    "http-chat",
  )("The request names an agent or a model that does not exist.", "GET /v1/models lists the available ones"),
  invalid_value: publicApi("`error.param` has an invalid value.", "follow the message"),
  unsupported_value: publicApi(
    "`error.param` has a value of the public API that the gateway does not support.",
    "follow the message",
  ),
  missing_required_parameter: publicApi("A required field is missing: `error.param`.", "send the field"),
  unknown_parameter: publicApi("The request has a field that does not exist.", "omit the field"),
  unsupported_parameter: publicApi(
    "The request has a field of the public API that the gateway does not support.",
    "omit the field",
  ),
  previous_response_not_found: from("INVALID_REQUEST", "http-responses")(
    "The response to continue from is no longer stored.",
    "send the whole conversation",
  ),

  // `svc import` and `svc export`.
  IMPORT_UNPROTECTED: from("INVALID_REQUEST", "import")(
    "Settings that promise protection have no equal here. `details.keys` names them.",
    "read what each one means, then repeat the command with --without <key> for each",
  ),
  IMPORT_SOURCE_RUNS: from("INVALID_REQUEST", "kit")(
    "The gateway whose state is imported runs, or the gateway of this state directory does. `details.pid` is its process.",
    "stop it, then repeat the command",
  ),
  IMPORT_UNREADABLE: from("INVALID_REQUEST", "import")(
    "The state to import cannot be read. `details.path` names the file.",
    "correct that file; --without-config takes the data without the configuration",
  ),
  IMPORT_NEWER: from("INVALID_REQUEST", "import")(
    "A newer version than this reader knows wrote the state to import.",
    "svc update; --anyway reads what this version knows",
  ),
  IMPORT_STATE_IN_USE: from("INVALID_REQUEST", "kit")(
    "The state directory has conversations or devices of its own.",
    "repeat the command with --merge, or set SVC_STATE_DIR to a new directory",
  ),

  WIZARD_RUNNING: from("UNAVAILABLE", "wizard")(
    "Another guided setup runs. `details.sessionId` names it, `details.startedAt` is its start in epoch ms.",
    "finish that setup, or end it with wizard.cancel and its session id",
  ),
} as const satisfies Readonly<Record<string, DetailEntry>>;

/** A code of the catalogue. */
export type DetailCode = keyof typeof DETAIL_CODES;

/**
 * Creates a refusal with a `details.code`; the catalogue supplies its `error.code`.
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

/** The `details.code` of a refusal; `undefined` if it has none, or one that is not in the catalogue. */
export function detailsCode(error: unknown): DetailCode | undefined {
  if (!isGatewayError(error)) return undefined;
  const { code } = Object(error.details) as { readonly code?: unknown };
  return isDetailCode(code) ? code : undefined;
}

function isDetailCode(code: unknown): code is DetailCode {
  return typeof code === "string" && Object.hasOwn(DETAIL_CODES, code);
}

/** Adds `nextStep` from the catalogue to the `details` of a refused `connect`, unless they already have one. */
export function withNextStep(details: unknown): unknown {
  const { code, nextStep } = Object(details) as { readonly code?: unknown; readonly nextStep?: unknown };
  if (nextStep !== undefined || !isDetailCode(code)) return details;
  return { ...(details as object), nextStep: DETAIL_CODES[code].next }; // it has a key, so it is an object
}
