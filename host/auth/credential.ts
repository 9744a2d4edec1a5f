/** The check of the shared credential in the handshake: a guess is counted before it is compared. Spec: protocol/frames-and-connect.md §7. */
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
   * It stands for an operator by itself.
   * Choice: mode `none` trusts operators of this machine and nobody else; the contract says "no authentication".
   */
  readonly trusted: boolean;
  /** Some credential was sent, right or wrong. */
  readonly offered: boolean;
  /** It is the key that lies in the state directory. */
  readonly isLocalKey: boolean;
  /** Whom a trusted proxy named. */
  readonly user: string | undefined;
  /** Epoch in which it was looked at: what is minted from it is no younger. */
  readonly since: number;
  /**
   * What was not the shared credential may be one a plugin knows, e.g. a device token: to be told what came of it, so
   * that it is counted. Absent: the shared credential was right, or nothing counts in this mode.
   */
  readonly undecided: Reservation | "locked" | undefined;
}

export function verifyShared({ auth, device }: ConnectParams, peer: Peer, access: Access): Credential {
  const { settings, epoch: since } = access.authority;
  const offered = [auth?.token, auth?.deviceToken, auth?.password].some((value) => value?.trim());
  const fromPage = peer.headers.origin !== undefined;
  const isLocalKey = holdsLocalKey(auth?.token, peer, access);
  const facts = { offered, isLocalKey, user: undefined, since, undecided: undefined };
  if (isLocalKey) return { ok: true, reason: "", trusted: true, ...facts }; // before anything is counted: it cannot be guessed
  const candidate = device !== undefined && Boolean(auth?.deviceToken?.trim() || auth?.token?.trim());
  // Reserved before anything is compared: a device anybody can make must not be a way to guess the shared secret freely.
  const guess = candidate ? access.reserveGuess("device-token", peer, fromPage) : undefined;
  // Choice: who sends nothing guesses nothing; an office behind one address must not be locked out by a page that polls.
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

/** A web page cannot have read it, so one that sends it got it from somebody. */
function holdsLocalKey(token: string | undefined, peer: Peer, { localKey }: Access): boolean {
  const given = token?.trim();
  const comparable = given !== undefined && given.length === localKey.length;
  return comparable && peer.headers.origin === undefined && isHere(peer) && sameSecret(given, localKey);
}

/** Local, or on the machine of a proxy that is trusted and had no hand in it: the commands of this machine get in there, too. */
function isHere(peer: Peer): boolean {
  const isProxyItself = peer.viaProxy && !isForwarded(peer.headers);
  return isLocal(isProxyItself ? { ...peer, clientAddress: peer.remoteAddress, viaProxy: false } : peer);
}
