/**
 * One-time secrets that let one device connect without an approval. In memory only: they end with the gateway, and with the
 * credential of whoever created them.
 */
import { createHash, randomBytes } from "node:crypto";
import type { AuthAttempt, Denial, Principal } from "@svc/sdk";
import { DETAIL_CODES, type DetailCode } from "@svc/sdk/errors";
import type { Credentials } from "@svc/sdk/gateway";
import { missingScopes, resolved } from "./scopes.ts";

/** Marks a secret as an invitation, so that a refusal can say what happened to it. */
const PREFIX = "svc-invite-";
const SECRET_BYTES = 32;
const LENGTH = PREFIX.length + Math.ceil((SECRET_BYTES * 4) / 3);
const DEFAULT_TTL_MS = 900_000;
/** Choice: maximum of unused invitations; beyond it, the one that was created first ends. */
const MAX_UNUSED = 64;

const ENDED = "unauthorized: this one-time link was used, has expired or was withdrawn";
const NOT_FOR_IT = "unauthorized: a one-time link admits only an operator that proves a device";

interface Invitation {
  /** Principal that created it. */
  readonly by: Principal;
  /** epoch ms */
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
  /** Who invited, by `connect.device` of the attempt that used the invitation. */
  readonly #inviters = new WeakMap<object, Principal>();

  constructor(options: InvitationOptions) {
    this.#options = options;
  }

  create(by: Principal, ttlMs: number = DEFAULT_TTL_MS): { readonly token: string; readonly expiresAtMs: number } {
    const now = this.#options.now();
    for (const [hash, { expiresAt }] of this.#unused) if (expiresAt <= now) this.#unused.delete(hash);
    const [oldest] = this.#unused.keys();
    if (this.#unused.size >= MAX_UNUSED && oldest !== undefined) this.#unused.delete(oldest);
    const token = PREFIX + randomBytes(SECRET_BYTES).toString("base64url");
    this.#unused.set(hashOf(token), { by, expiresAt: now + ttlMs });
    return { token, expiresAtMs: now + ttlMs };
  }

  /**
   * Uses up the invitation in `auth.token` if it admits the attempt. One that lacks a requested scope stays usable.
   * @returns `undefined`: the attempt has no invitation
   */
  use({ connect, role, deviceId }: AuthAttempt): "admitted" | Denial | undefined {
    const token = connect.auth?.token?.trim();
    if (!token?.startsWith(PREFIX)) return undefined;
    if (role !== "operator" || deviceId === undefined || !connect.device)
      return denied("AUTH_INVITATION_INVALID", NOT_FOR_IT);
    const hash = token.length === LENGTH ? hashOf(token) : ""; // a longer one is not worth hashing
    const invitation = this.#unused.get(hash);
    if (!invitation || !this.#isLive(invitation)) {
      this.#unused.delete(hash);
      return denied("AUTH_INVITATION_INVALID", ENDED);
    }
    const { by } = invitation;
    const [scope] = missingScopes(by.scopes, resolved(connect.scopes), role);
    if (scope !== undefined)
      return denied("MISSING_SCOPE", `unauthorized: whoever created this one-time link lacks the scope ${scope}`, {
        scope,
        nextStep: DETAIL_CODES.AUTH_INVITATION_INVALID.next,
      });
    this.#unused.delete(hash);
    this.#inviters.set(connect.device, by);
    return "admitted";
  }

  #isLive({ by, expiresAt }: Invitation): boolean {
    return expiresAt > this.#options.now() && this.#options.credentials.isLive(by);
  }

  /** Who created the invitation that this connection used. @param device `connect.device` */
  inviterOf(device: object | undefined): Principal | undefined {
    return device && this.#inviters.get(device);
  }
}

function denied(code: DetailCode, reason: string, particulars: object = {}): Denial {
  return { allow: false, code: DETAIL_CODES[code].error, reason, details: { code, ...particulars } };
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
