/** Checks the shared credential in the handshake: a guess is counted before it is compared. Spec: protocol/frames-and-connect.md §7. */
import type { ConnectParams } from "@svc/sdk/protocol";
import type { Access } from "./access.ts";
import type { Peer } from "./client-address.ts";
import type { Reservation } from "./failure-limiter.ts";
import { isForwarded, isLocal } from "./locality.ts";
import { sameSecret } from "./secret.ts";
import { checkShared } from "./shared-secret.ts";

export interface Credential {
  readonly ok: boolean;
  /** The wire's `authReason`; meaningless when `ok`. */
  readonly reason: string;
  /**
   * The credential alone admits an operator.
   * Choice: mode `none` trusts only operators on this machine; the contract says "no authentication".
   */
  readonly trusted: boolean;
  /** A credential was sent, valid or not. */
  readonly offered: boolean;
  /** The credential is the key from the state directory. */
  readonly isLocalKey: boolean;
  /** User named by a trusted proxy. */
  readonly user: string | undefined;
  /** Epoch in which the credential was checked; a principal minted from it carries this epoch. */
  readonly since: number;
  /**
   * A credential other than the shared one may be known to a plugin, e.g. a device token. Report its outcome to this
   * reservation, so that it is counted. Absent: the shared credential was valid, or nothing is counted.
   */
  readonly undecided: Reservation | "locked" | undefined;
}

export function verifyShared({ auth, device }: ConnectParams, peer: Peer, access: Access): Credential {
  const { settings, epoch: since } = access.authority;
  const offered = [auth?.token, auth?.deviceToken, auth?.password].some((value) => value?.trim());
  const fromPage = peer.headers.origin !== undefined;
  const isLocalKey = holdsLocalKey(auth?.token, peer, access);
  const facts = { offered, isLocalKey, user: undefined, since, undecided: undefined };
  if (isLocalKey) return { ok: true, reason: "", trusted: true, ...facts }; // before any counting: it cannot be guessed
  const candidate = device !== undefined && Boolean(auth?.deviceToken?.trim() || auth?.token?.trim());
  // Reserved before any comparison: anyone can create a device, which must not allow unlimited guesses of the shared secret.
  const guess = candidate ? access.reserveGuess("device-token", peer, fromPage) : undefined;
  // Choice: a client without a credential makes no guess; a polling page must not lock out an office behind one address.
  const reservation = offered ? access.reserveGuess("shared-secret", peer, fromPage) : undefined;
  const failed = (reason: string) => ({ ok: false, reason, trusted: false, ...facts });
  if (guess?.locked) {
    if (reservation && !reservation.locked) reservation.release();
    return { ...failed("rate_limited"), undecided: "locked" };
  }
  if (reservation?.locked) return { ...failed("rate_limited"), undecided: guess };
  const shared = checkShared(settings, auth, peer);
  if (shared.ok) {
    reservation?.succeeded();
    guess?.release();
    const trusted = settings.mode !== "none" || isLocal(peer);
    return { ok: true, reason: "", trusted, ...facts, user: shared.user };
  }
  if (!candidate) return { ...failed(shared.reason), undecided: reservation };
  reservation?.release(); // counted as a device token instead. Spec: protocol/authorization.md §5
  return { ...failed(shared.reason), undecided: guess };
}

/** Refuses web pages: a page cannot read the file, so one that sends the key got it from someone else. */
function holdsLocalKey(token: string | undefined, peer: Peer, { localKey }: Access): boolean {
  const given = token?.trim();
  const comparable = given !== undefined && given.length === localKey.length;
  return comparable && peer.headers.origin === undefined && isHere(peer) && sameSecret(given, localKey);
}

/** Local, or from the loopback address of a trusted proxy that did not forward the request: local commands get in there, too. */
function isHere(peer: Peer): boolean {
  const isProxyItself = peer.viaProxy && !isForwarded(peer.headers);
  return isLocal(isProxyItself ? { ...peer, clientAddress: peer.remoteAddress, viaProxy: false } : peer);
}
