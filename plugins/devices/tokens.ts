/** Device tokens: authentication, issue, rotation and revocation. Spec: protocol/frames-and-connect.md §7, §11. */
import {
  type Admission,
  type AuthAttempt,
  type Denial,
  type DeviceToken,
  type Identity,
  invalidRequest,
  type Logger,
  type Principal,
  unavailable,
} from "@svc/sdk";
import type { Credentials } from "@svc/sdk/gateway";
import type { Storage } from "@svc/sdk/storage";
import { freshToken, principalId, TOKEN_ENDED } from "./approval.ts";
import { untilUnchanged } from "./changes.ts";
import { canonicalKey } from "./claim.ts";
import type { Invitations } from "./invitations.ts";
import { type DeviceStore, deviceUnchanged, endAdopted, touchToken, writeToken } from "./device-store.ts";
import { missing } from "./missing.ts";
import type { TokenRecord } from "./records.ts";
import { knownScopes, missingScopes, resolved, ROLES, wantedScopes } from "./scopes.ts";
import { isAdoptedValue, isTokenValue, tokenValue } from "./token-value.ts";

/** Minimum milliseconds between two updates of a token's last use. */
const TOUCH_EVERY_MS = 60_000;
/** Milliseconds after an import in which a device may use the token of its former gateway; checked at each use. */
const ADOPTED_MS = 30 * 86_400_000;
const ROTATION_REFUSED =
  "device token rotation denied: a token can only have a role and scopes that were approved for the device, and scopes that you hold yourself\nNext: svc devices list";

export interface TokensOptions {
  readonly storage: Storage;
  readonly store: DeviceStore;
  readonly credentials: Credentials;
  readonly invitations: Invitations;
  readonly log: Logger;
  now(): number;
  /** Absent until this plugin has started. */
  key(): Uint8Array | undefined;
}

export class Tokens {
  readonly #options: TokensOptions;
  /** Credential of each connection being accepted: the salt of its token, or `undefined` for the gateway's own credential and for an invitation. */
  readonly #vouchedBy = new WeakMap<object, { readonly salt: string | undefined }>();
  readonly #touching = new Set<Promise<unknown>>();

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * Identifies a device by the gateway's own credential, by an invitation or by its token. A connection without a proof causes no reads.
   * @returns a denial for an invitation that does not admit a client without another credential
   */
  async vouch(attempt: AuthAttempt): Promise<Identity | Denial | undefined> {
    const { deviceId, role, connect, shared } = attempt;
    const invited = this.#options.invitations.use(attempt);
    const isTrusted = shared || invited === "admitted";
    const denial = isTrusted ? undefined : invited;
    if (deviceId === undefined || !connect.device) return denial;
    const token = isTrusted ? undefined : await this.#proven(deviceId, role, connect);
    if (!isTrusted && !token) return denial;
    this.#vouchedBy.set(connect.device, { salt: token?.salt });
    if (token) this.#touch(token);
    return { id: principalId(deviceId, role), scopes: wantedScopes(role, connect.scopes) };
  }

  /**
   * The live token of this device and role, when the client sent it and it covers the requested scopes. The value that a
   * former gateway issued counts as well, until the device sends the token of this one, which it gets with each connect.
   */
  async #proven(deviceId: string, role: string, connect: AuthAttempt["connect"]): Promise<TokenRecord | undefined> {
    const given = connect.auth?.deviceToken?.trim() || connect.auth?.token?.trim();
    const key = this.#options.key();
    if (!given || !key) return undefined;
    const token = await this.#options.store.token(deviceId, role);
    if (!token || token.revokedAtMs !== undefined) return undefined;
    const isOwn = isTokenValue(key, token, given);
    if (!isOwn && !this.#isAdopted(key, token, given)) return undefined;
    if (missingScopes(token.scopes, resolved(connect.scopes), role).length > 0) return undefined;
    if (isOwn && token.adopted !== undefined) await this.#endAdopted(token);
    return token;
  }

  #isAdopted(key: Uint8Array, { adopted, createdAtMs }: TokenRecord, given: string): boolean {
    if (adopted === undefined || this.#options.now() - createdAtMs >= ADOPTED_MS) return false;
    return isAdoptedValue(key, adopted, given);
  }

  /** Awaited, so that the former value is refused from now on. If the write fails, the next connect repeats it. */
  async #endAdopted(token: TokenRecord): Promise<void> {
    const { storage, log } = this.#options;
    const { deviceId, role } = token;
    try {
      await storage.transaction([endAdopted(token)]);
      log.info({ deviceId, role }, "a device uses its new token; the token of its former gateway has ended");
    } catch (error) {
      const message = "the token of a former gateway could not be ended; retrying when the device connects again";
      log.warn({ deviceId, role, err: error }, message);
    }
  }

  /**
   * The token for an admitted device: its current one when that covers the requested scopes, otherwise a new one for exactly
   * these scopes, never beyond the approved ones. A device that authenticated with a token gets that token, or none when it
   * was revoked or rotated meanwhile: a new one would undo the revocation.
   */
  async issue(admission: Admission): Promise<DeviceToken | undefined> {
    const { device: deviceId, principal, connect } = admission;
    const key = this.#options.key();
    if (deviceId === undefined || !connect.device || !key) return undefined;
    const isVouched = principal.provenance === "device";
    const vouchedBy = this.#vouchedBy.get(connect.device);
    if (isVouched && !vouchedBy) return undefined; // authenticated by another plugin
    const salt = isVouched ? vouchedBy?.salt : undefined;
    const publicKey = canonicalKey(connect.device.publicKey);
    const scopes = wantedScopes(principal.role, principal.scopes);
    const token = await untilUnchanged(() =>
      salt === undefined
        ? this.#tokenFor({ deviceId, role: principal.role, publicKey, scopes })
        : this.#tokenOf(deviceId, principal.role, salt),
    );
    if (!token) return undefined;
    const issuedAtMs = token.rotatedAtMs ?? token.createdAtMs;
    return { deviceToken: tokenValue(key, token), role: token.role, scopes: token.scopes, issuedAtMs };
  }

  async #tokenOf(deviceId: string, role: string, salt: string): Promise<TokenRecord | undefined> {
    const token = await this.#options.store.token(deviceId, role);
    return token?.salt === salt && token.revokedAtMs === undefined ? token : undefined;
  }

  async #tokenFor(wish: {
    readonly deviceId: string;
    readonly role: string;
    readonly publicKey: string;
    readonly scopes: readonly string[];
  }): Promise<TokenRecord | undefined> {
    const { store, storage, now } = this.#options;
    const { deviceId, role, scopes } = wish;
    const device = await store.get(deviceId);
    if (!device || device.record.publicKey !== wish.publicKey || !device.record.roles.includes(role)) return undefined;
    if (missingScopes(device.record.approvedScopes, scopes, role).length > 0) return undefined;
    const before = await store.token(deviceId, role);
    const isLive = before !== undefined && before.revokedAtMs === undefined;
    if (isLive && missingScopes(before.scopes, scopes, role).length === 0) return before;
    const token = freshToken(deviceId, role, scopes, before, now());
    await storage.transaction([deviceUnchanged(device), writeToken(token, before)]);
    return token;
  }

  /**
   * Issues a new token for a role and returns it to the caller; ends the old token and the connections that used it.
   * @throws GatewayError `NOT_FOUND`: no such device; `INVALID_REQUEST`: a role or scope that was not approved, or that the caller lacks
   */
  async rotate(
    asked: { readonly deviceId: string; readonly role: string; readonly scopes?: readonly string[] },
    caller: Principal,
  ) {
    const { store, storage, credentials, log, now, key } = this.#options;
    const { deviceId, role, scopes } = asked;
    const held = key() ?? unavailable("the plugin devices is starting; try again", { retryAfterMs: 500 });
    const name = role.trim();
    if (!ROLES.some((known) => known === name)) invalidRequest(ROTATION_REFUSED);
    const token = await untilUnchanged(async () => {
      const device = (await store.get(deviceId)) ?? missing.device(deviceId);
      const before = await store.token(deviceId, name);
      if (!before && !device.record.roles.includes(name)) invalidRequest(ROTATION_REFUSED);
      const wanted = scopes === undefined ? (before?.scopes ?? device.record.scopes) : resolved(scopes);
      const { approvedScopes } = device.record;
      const isGiven =
        knownScopes(wanted).length === new Set(wanted).size && missingScopes(approvedScopes, wanted).length === 0;
      if (!isGiven || missingScopes(caller.scopes, wanted).length > 0) invalidRequest(ROTATION_REFUSED);
      const fresh = { ...freshToken(deviceId, name, wanted, before, now()), rotatedAtMs: now() };
      await storage.transaction([deviceUnchanged(device), writeToken(fresh, before)]);
      return fresh;
    });
    await credentials.revoke(principalId(deviceId, name), TOKEN_ENDED);
    log.info({ deviceId, role: name, scopes: token.scopes, by: caller.id }, "a device token was rotated");
    const value = tokenValue(held, token);
    return { deviceId, role: name, token: value, scopes: [...token.scopes], rotatedAtMs: token.rotatedAtMs };
  }

  /** Revokes the token of a role and closes the connections that used it. @throws GatewayError `NOT_FOUND` */
  async revoke(deviceId: string, role: string, by: string) {
    const { store, storage, credentials, log, now } = this.#options;
    const name = role.trim();
    const revokedAtMs = await untilUnchanged(async () => {
      if (!(await store.get(deviceId))) missing.device(deviceId);
      const before = (await store.token(deviceId, name)) ?? missing.token(deviceId, name);
      if (before.revokedAtMs !== undefined) return before.revokedAtMs;
      const at = now();
      await storage.transaction([writeToken({ ...before, revokedAtMs: at }, before)]);
      return at;
    });
    await credentials.revoke(principalId(deviceId, name), TOKEN_ENDED);
    log.info({ deviceId, role: name, by }, "a device token was revoked");
    return { deviceId, role: name, revokedAtMs };
  }

  /** Not awaited by a connect: the time of the last use is only informative. */
  #touch(token: TokenRecord): void {
    const { storage, log, now } = this.#options;
    const at = now();
    if (token.lastUsedAtMs !== undefined && at - token.lastUsedAtMs < TOUCH_EVERY_MS) return;
    const touching = storage
      .transaction([touchToken(token, at)])
      .catch((error: unknown) =>
        log.warn({ deviceId: token.deviceId, err: error }, "the last use of a device token was not stored"),
      )
      .finally(() => this.#touching.delete(touching));
    this.#touching.add(touching);
  }

  /** Resolves when all writes have finished. */
  async idle(): Promise<void> {
    await Promise.all(this.#touching);
  }
}
