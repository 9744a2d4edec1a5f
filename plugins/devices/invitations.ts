/**
 * One-time secrets that let one new device connect without an approval. In memory only: a restart ends them, like the end of the
 * credential of whoever created them.
 */
import { createHash, randomBytes } from "node:crypto";
import type { AuthAttempt, Principal } from "@svc/sdk";
import type { Credentials } from "@svc/sdk/gateway";
import { missingScopes, resolved } from "./scopes.ts";

/** Marks a secret as an invitation, so that it is recognized in logs and never compared with other credentials. */
const PREFIX = "svc-invite-";
const DEFAULT_TTL_MS = 900_000;
/** Choice: maximum of unused invitations; the oldest one ends first. */
const MAX_UNUSED = 64;

/** An invitation that was used, and by whose authority it admits. */
export interface Invitation {
  /** Principal that created it. */
  readonly by: Principal;
  readonly expiresAt: number;
}

export interface InvitationOptions {
  readonly credentials: Pick<Credentials, "isLive">;
  now(): number;
}

export class Invitations {
  readonly #options: InvitationOptions;
  /** By the hash of the secret; oldest first. */
  readonly #unused = new Map<string, Invitation>();
  /** By `connect.device` of the attempt that used it. */
  readonly #used = new WeakMap<object, Invitation>();

  constructor(options: InvitationOptions) {
    this.#options = options;
  }

  create(by: Principal, ttlMs: number = DEFAULT_TTL_MS): { readonly token: string; readonly expiresAtMs: number } {
    const token = PREFIX + randomBytes(32).toString("base64url");
    const expiresAt = this.#options.now() + ttlMs;
    const [oldest] = this.#unused.keys();
    if (this.#unused.size >= MAX_UNUSED && oldest !== undefined) this.#unused.delete(oldest);
    this.#unused.set(hashOf(token), { by, expiresAt });
    return { token, expiresAtMs: expiresAt };
  }

  /** Uses up the invitation that an operator sent with a proven device. @returns whether it admits the attempt */
  use({ connect, role, deviceId }: AuthAttempt): boolean {
    const token = connect.auth?.token?.trim();
    if (role !== "operator" || deviceId === undefined || !connect.device || !token?.startsWith(PREFIX)) return false;
    const hash = hashOf(token);
    const invitation = this.#unused.get(hash);
    if (!invitation) return false;
    const { by, expiresAt } = invitation;
    if (missingScopes(by.scopes, resolved(connect.scopes), role).length > 0) return false;
    this.#unused.delete(hash);
    if (expiresAt <= this.#options.now() || !this.#options.credentials.isLive(by)) return false;
    this.#used.set(connect.device, invitation);
    return true;
  }

  /** The invitation that this connection used. @param device `connect.device` */
  usedBy(device: object | undefined): Invitation | undefined {
    return device && this.#used.get(device);
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
