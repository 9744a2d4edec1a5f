/**
 * The first request on a connection: identifies the client and checks its protocol version. The wire contract fixes the order
 * of checks. Spec: §2.2, §3, §5.1; protocol/frames-and-connect.md §5-§10.
 */
import {
  type AuthAttempt,
  type Denial,
  describeViolations,
  type ErrorShape,
  GatewayError,
  type Identity,
  matches,
  type PairingRequest,
  type Principal,
  type Role,
  toErrorShape,
} from "@svc/sdk";
import { detailsCode, refusal, withNextStep } from "@svc/sdk/errors";
import {
  CLOSE,
  ConnectParams,
  errorFor,
  type Generation,
  GENERATIONS,
  isWebClient,
  NEWEST,
  OLDEST,
  RequestFrame,
} from "@svc/sdk/protocol";
import type { Access } from "../../auth/access.ts";
import { canonicalClientId } from "../../auth/aliases.ts";
import { type Credential, verifyShared } from "../../auth/credential.ts";
import { verifyDevice } from "../../auth/device-proof.ts";
import type { Peer } from "../../auth/client-address.ts";
import { isLocal, originRefusal } from "../../auth/locality.ts";
import { checkDevicePresent } from "../../auth/device-presence.ts";
import { requestedScopes } from "../../auth/principal.ts";
import { authDetailCode, unauthorizedText } from "../../auth/shared-secret.ts";
import { refusalOf } from "../../hooks/hook-bus.ts";
import { withoutUnknown } from "./unknown-keys.ts";

export interface HandshakeContext {
  readonly connectionId: string;
  readonly peer: Peer;
  /** Nonce of the challenge sent on this connection. */
  readonly nonce: string;
  readonly access: Access;
  /** epoch ms */
  readonly now: number;
  /** Asks plugins to identify the client; `undefined` when none can, a denial when one knows why the credential is not valid. */
  vouch(attempt: AuthAttempt): Promise<Identity | Denial | undefined>;
  /** Asks plugins for a pairing request for an unknown device. */
  pairing(attempt: AuthAttempt): Promise<PairingRequest | undefined>;
}

export interface Identified {
  readonly requestId: string;
  readonly generation: Generation;
  readonly params: ConnectParams;
  /** With aliases resolved. */
  readonly clientId: string;
  readonly role: Role;
  readonly principal: Principal;
  readonly local: boolean;
  /** Set when the proof of the device was verified. */
  readonly deviceId: string | undefined;
}

/** A `connect` that was refused: the error response, if any, and the close code and reason. */
export class HandshakeRefusal extends Error {
  override readonly name = "HandshakeRefusal";
  readonly requestId: string | undefined;
  readonly error: ErrorShape | undefined;
  readonly closeCode: number;
  readonly closeReason: string;

  constructor(closeCode: number, closeReason: string, requestId?: string, error?: ErrorShape) {
    super(closeReason || `closed with ${closeCode}`);
    this.closeCode = closeCode;
    this.closeReason = closeReason;
    this.requestId = requestId;
    this.error = error;
  }
}

/** @throws HandshakeRefusal at the first check that fails */
export async function handshake(text: string, context: HandshakeContext): Promise<Identified> {
  const { id: requestId, params: raw } = readRequest(text);
  const { access, peer, nonce, now } = context;
  const range = readRange(raw);
  const generation = generationIn(range);
  let credential: Credential | undefined;
  try {
    if (!generation) throw mismatch(range);
    const params = readParams(raw, generation);
    const clientId = canonicalClientId(params.client.id, access.aliases);
    const role = readRole(params);
    checkOrigin({ ...params.client, id: clientId }, peer, access);
    credential = verifyShared(params, peer, access);
    const device = checkDevicePresent({
      params,
      clientId,
      role,
      credential,
      local: isLocal(peer),
      panel: access.panel,
    });
    const deviceId = device ? verifyDevice(params, nonce, now) : undefined; // the signature covers the id as it was sent
    const principal = await authenticate({ params, clientId, role, credential, deviceId }, context);
    return { requestId, generation, params, clientId, role, principal, local: isLocal(peer), deviceId };
  } catch (error) {
    countAsFailed(credential);
    throw toRefusal(error, requestId, generation ?? refusing(range));
  }
}

/** Any error after the secret was compared counts as a failed attempt; an undecided reservation would keep its slot forever. */
function countAsFailed(credential: Credential | undefined): void {
  const guess = credential?.undecided;
  if (guess !== "locked") guess?.failed();
}

function toRefusal(error: unknown, requestId: string, generation: Generation): unknown {
  if (!(error instanceof GatewayError)) return error;
  const isMismatch = detailsCode(error) === "PROTOCOL_MISMATCH";
  return connectRefusal(requestId, error, generation, isMismatch ? CLOSE.protocolMismatch : CLOSE.policy);
}

/** Adds the next step to the details of a refusal. */
export function connectRefusal(
  requestId: string,
  error: GatewayError,
  generation: Generation,
  closeCode: number = CLOSE.policy,
): HandshakeRefusal {
  const shape = errorFor(generation, toErrorShape(error), "connect");
  if (shape.details !== undefined) shape.details = withNextStep(shape.details);
  return new HandshakeRefusal(closeCode, error.message, requestId, shape);
}

/** The first checks: valid JSON, a request frame, the method `connect`. */
function readRequest(text: string): { id: string; params: unknown } {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    throw new HandshakeRefusal(CLOSE.normal, "");
  }
  if (!matches(RequestFrame, frame)) throw new HandshakeRefusal(CLOSE.policy, "invalid request frame");
  const { id, method, params } = frame;
  if (method !== "connect") {
    const message = "invalid handshake: first request must be connect";
    throw connectRefusal(id, refusal("CONNECT_FIRST", message), OLDEST);
  }
  return { id, params };
}

/** The versions that a client speaks. */
interface Range {
  readonly min: number;
  readonly max: number;
}

/** Choice (spec/README.md): read before the schema is checked, so that a newer client learns of a mismatch. Without a valid range the schema decides. */
function readRange(raw: unknown): Range {
  const { minProtocol: min, maxProtocol: max } = Object(raw) as { minProtocol?: unknown; maxProtocol?: unknown };
  if (typeof min === "number" && typeof max === "number" && Number.isInteger(min) && Number.isInteger(max))
    return { min, max };
  return { min: OLDEST.protocol, max: OLDEST.protocol };
}

/** The newest one that the client speaks. Spec: protocol 4 §1.3. */
function generationIn({ min, max }: Range): Generation | undefined {
  return GENERATIONS.find(({ protocol }) => min <= protocol && protocol <= max);
}

/** The generation in whose form a client is refused that speaks none. */
function refusing({ max }: Range): Generation {
  return max < OLDEST.protocol ? OLDEST : NEWEST;
}

function mismatch(range: Range): GatewayError {
  const generation = refusing(range);
  const expectedProtocol = generation.protocol;
  const { min: clientMinProtocol, max: clientMaxProtocol } = range;
  const known = { clientMinProtocol, clientMaxProtocol, minimumProbeProtocol: OLDEST.protocol };
  const details = generation === OLDEST ? { expectedProtocol } : { expectedProtocol, ...known };
  return refusal("PROTOCOL_MISMATCH", "protocol mismatch", details);
}

function readParams(raw: unknown, { ignoresUnknown }: Generation): ConnectParams {
  const params = ignoresUnknown ? withoutUnknown(ConnectParams, raw) : raw;
  if (matches(ConnectParams, params)) return params;
  throw refusal("CONNECT_PARAMS_INVALID", `invalid connect params: ${describeViolations(ConnectParams, params)}`);
}

function readRole({ role = "operator" }: ConnectParams): Role {
  if (role === "operator" || role === "node") return role;
  throw refusal("ROLE_INVALID", "invalid role");
}

function checkOrigin(client: ConnectParams["client"], peer: Peer, { origins }: Access): void {
  const why = originRefusal(peer, isWebClient(client), origins);
  if (why) throw refusal("ORIGIN_NOT_ALLOWED", why);
}

interface Claim {
  readonly params: ConnectParams;
  readonly clientId: string;
  readonly role: Role;
  readonly credential: Credential;
  readonly deviceId: string | undefined;
}

/** The last checks: the shared secret, else a plugin that vouches; a node always needs a plugin that paired it. */
async function authenticate(claim: Claim, context: HandshakeContext): Promise<Principal> {
  const { params, clientId, role, credential, deviceId } = claim;
  const { authority } = context.access;
  const scopes = requestedScopes(params.scopes);
  const circumstances = { since: credential.since, device: deviceId, onShared: credential.ok };
  if (credential.trusted && role === "operator") {
    if (credential.isLocalKey) return authority.localPrincipal(scopes, circumstances);
    return credential.user === undefined
      ? authority.sharedPrincipal(role, scopes, circumstances)
      : authority.proxyPrincipal(credential.user, role, scopes, circumstances);
  }
  const { connectionId, peer } = context;

  const attempt = {
    connectionId,
    remoteAddress: peer.clientAddress ?? peer.remoteAddress,
    local: isLocal(peer),
    connect: params,
    clientId,
    role,
    deviceId,
    shared: credential.ok,
    fromPage: peer.headers.origin !== undefined,
  };
  const known = deviceId !== undefined || (role === "operator" && credential.offered); // a node always needs a device
  const identity = known ? await vouched(credential, attempt, context) : undefined;
  if (identity) return authority.vouchedPrincipal(identity.id, role, identity.scopes, scopes, circumstances);
  if (!credential.ok)
    throw unauthorized(
      params.auth?.deviceToken?.trim() && credential.reason !== "rate_limited"
        ? "device_token_mismatch"
        : credential.reason,
    );
  const request = deviceId === undefined ? undefined : await context.pairing(attempt);
  throw refusal("PAIRING_REQUIRED", "pairing required", { reason: "not-paired", ...request });
}

/** Asks plugins to vouch; the attempt is counted like any other guess. @throws GatewayError the client is locked out, or a plugin denies it */
async function vouched(
  { undecided, reason }: Credential,
  attempt: AuthAttempt,
  { vouch }: HandshakeContext,
): Promise<Identity | undefined> {
  const isLocked = undecided === "locked" || (reason === "rate_limited" && attempt.deviceId === undefined);
  if (isLocked) throw unauthorized("rate_limited");
  const answer = await vouch(attempt);
  if (answer && "allow" in answer) throw refusalOf(answer, "AUTH_UNAUTHORIZED");
  if (answer) undecided?.succeeded();
  return answer;
}

function unauthorized(reason: string): GatewayError {
  return refusal(authDetailCode(reason), unauthorizedText(reason), { authReason: reason });
}
