/**
 * First request on a connection: who is there, and which protocol do we speak?
 *
 * Decides and returns; it never touches the socket. `connection.ts` sends what this returns, or what the refusal
 * says, and closes. The order of checks is the wire's. Spec: §2.2, §3, §5.1; protocol/frames-and-connect.md §5-§9.
 */
import {
  type AuthAttempt,
  CLOSE,
  ConnectParams,
  describeViolations,
  type ErrorShape,
  GatewayError,
  type Identity,
  isWebClient,
  matches,
  type Principal,
  PROTOCOL,
  RequestFrame,
  type Role,
  toErrorShape,
  WEB_PANEL_CLIENT_ID,
} from "@svc/sdk";
import { verifyDevice } from "../auth/device-proof.ts";
import { isLocal, originRefusal, type OriginPolicy, type Peer } from "../auth/locality.ts";
import type { AuthSettings } from "../auth/mode.ts";
import { requestedScopes, sharedSecretPrincipal, vouchedPrincipal } from "../auth/principal.ts";
import { authDetailCode, checkShared, type SharedAuth, unauthorizedText } from "../auth/shared-secret.ts";

export interface HandshakeContext {
  readonly connectionId: string;
  readonly peer: Peer;
  /** The challenge this connection was sent. */
  readonly nonce: string;
  readonly auth: AuthSettings;
  readonly origins: OriginPolicy;
  /** epoch ms */
  readonly now: number;
  /** Asks plugins who this is; `undefined` when none of them knows. */
  vouch(attempt: AuthAttempt): Promise<Identity | undefined>;
}

export interface Accepted {
  readonly requestId: string;
  readonly params: ConnectParams;
  readonly role: Role;
  readonly principal: Principal;
  readonly local: boolean;
  readonly deviceId: string | undefined;
}

/** A `connect` that was turned down: what to answer, if anything, and how to close. */
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
export async function handshake(text: string, context: HandshakeContext): Promise<Accepted> {
  const { id: requestId, params: raw } = readRequest(text);
  try {
    checkVersion(raw);
    const params = readParams(raw);
    const role = readRole(params);
    checkOrigin(params, context);
    const shared = checkShared(context.auth, params.auth);
    const trusted = shared.ok && (context.auth.mode !== "none" || isLocal(context.peer));
    checkDevicePresent(params, role, shared, trusted);
    const deviceId = verifyDevice(params, context.nonce, context.now);
    const principal = await authenticate({ params, role, shared, trusted, deviceId }, context);
    return { requestId, params, role, principal, local: isLocal(context.peer), deviceId };
  } catch (error) {
    throw toRefusal(error, requestId);
  }
}

function toRefusal(error: unknown, requestId: string): unknown {
  if (!(error instanceof GatewayError)) return error;
  const mismatch = error.code === "PROTOCOL_MISMATCH";
  return new HandshakeRefusal(
    mismatch ? CLOSE.protocolMismatch : CLOSE.policy,
    error.message,
    requestId,
    toErrorShape(error),
  );
}

/** Rows 0 to 2: JSON, a request frame, `connect`. */
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
    throw new HandshakeRefusal(CLOSE.policy, message, id, { code: "INVALID_REQUEST", message });
  }
  return { id, params };
}

/** Choice (spec/README.md): before the schema, so that a newer client learns what is wrong. */
function checkVersion(raw: unknown): void {
  if (typeof raw !== "object" || raw === null) return;
  const { minProtocol, maxProtocol } = raw as { minProtocol?: unknown; maxProtocol?: unknown };
  if (!Number.isInteger(minProtocol) || !Number.isInteger(maxProtocol)) return;
  if (Number(minProtocol) <= PROTOCOL && PROTOCOL <= Number(maxProtocol)) return;
  throw new GatewayError("PROTOCOL_MISMATCH", "protocol mismatch", { details: { expectedProtocol: PROTOCOL } });
}

function readParams(raw: unknown): ConnectParams {
  if (matches(ConnectParams, raw)) return raw;
  throw new GatewayError("INVALID_REQUEST", `invalid connect params: ${describeViolations(ConnectParams, raw)}`);
}

function readRole({ role = "operator" }: ConnectParams): Role {
  if (role === "operator" || role === "node") return role;
  throw new GatewayError("INVALID_REQUEST", "invalid role");
}

function checkOrigin({ client }: ConnectParams, { peer, origins }: HandshakeContext): void {
  const refusal = originRefusal(peer, isWebClient(client), origins);
  if (refusal) throw new GatewayError("INVALID_REQUEST", refusal);
}

/** Row 8: who must have a device, and lacks it. A wrong credential is judged as such instead. Spec: frames-and-connect.md §9. */
function checkDevicePresent(params: ConnectParams, role: Role, shared: SharedAuth, trusted: boolean): void {
  if (params.device) return;
  if (params.client.id === WEB_PANEL_CLIENT_ID) {
    throw new GatewayError(
      "INVALID_REQUEST",
      "the control panel needs a device identity: open it over HTTPS or localhost (secure context)",
      {
        details: { code: "CONTROL_UI_DEVICE_IDENTITY_REQUIRED" },
      },
    );
  }
  if (role === "operator" && trusted) return;
  if (!shared.ok && hasCredential(params)) return; // row 10 asks the plugins, then tells what is wrong with it
  throw new GatewayError("NOT_PAIRED", "device identity required", { details: { code: "DEVICE_IDENTITY_REQUIRED" } });
}

function hasCredential({ auth }: ConnectParams): boolean {
  return [auth?.token, auth?.deviceToken, auth?.password].some((value) => value?.trim());
}

function unauthorized(reason: string): GatewayError {
  return new GatewayError("INVALID_REQUEST", unauthorizedText(reason), {
    details: { code: authDetailCode(reason), authReason: reason },
  });
}

interface Claim {
  readonly params: ConnectParams;
  readonly role: Role;
  readonly shared: SharedAuth;
  /** Choice: mode `none` trusts operators of this machine and nobody else; the contract says "no authentication". */
  readonly trusted: boolean;
  readonly deviceId: string | undefined;
}

/** Rows 10 and 11: the shared secret, else a plugin that vouches; a node is only let in by a plugin that paired it. */
async function authenticate(claim: Claim, context: HandshakeContext): Promise<Principal> {
  const { params, role, shared, trusted, deviceId } = claim;
  const scopes = requestedScopes(params.scopes);
  if (trusted && role === "operator") return sharedSecretPrincipal(context.auth.mode, role, scopes);
  const { connectionId, peer } = context;
  const known = deviceId !== undefined || (role === "operator" && hasCredential(params));
  const local = isLocal(peer);
  const identity = known
    ? await context.vouch({ connectionId, remoteAddress: peer.remoteAddress, local, connect: params, deviceId })
    : undefined;
  if (identity) return vouchedPrincipal(identity.id, role, identity.scopes, scopes);
  if (!shared.ok) throw unauthorized(params.auth?.deviceToken?.trim() ? "device_token_mismatch" : shared.reason);
  throw new GatewayError("NOT_PAIRED", "pairing required", {
    details: { code: "PAIRING_REQUIRED", reason: "not-paired" },
  });
}
