/** Stores paired devices and their tokens. Writes are returned as statements, so that callers can combine them in one transaction. */
import type { Row, Statement, Storage } from "@svc/sdk/storage";
import type { DeviceRecord, StoredDevice, TokenRecord } from "./records.ts";

interface DeviceRow extends Row {
  readonly revision: number | bigint;
  readonly body: string;
}

interface TokenRow extends Row {
  readonly device_id: string;
  readonly role: string;
  readonly salt: string;
  readonly scopes: string;
  readonly created_at: number | bigint;
  readonly rotated_at: number | bigint | null;
  readonly revoked_at: number | bigint | null;
  readonly last_used_at: number | bigint | null;
  readonly adopted: string | null;
}

export class DeviceStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async get(deviceId: string): Promise<StoredDevice | undefined> {
    const row = await this.#storage.get<DeviceRow>("SELECT revision, body FROM devices_paired WHERE device_id = ?", [
      deviceId,
    ]);
    return row && { record: readRecord(row), revision: Number(row.revision) };
  }

  /** Newest approval first. */
  async list(): Promise<DeviceRecord[]> {
    const sql = "SELECT revision, body FROM devices_paired ORDER BY approved_at DESC, device_id";
    return (await this.#storage.all<DeviceRow>(sql)).map(readRecord);
  }

  /** At most `limit` devices whose ids follow `after`, by id. */
  async page(after: string, limit: number): Promise<DeviceRecord[]> {
    const sql = "SELECT revision, body FROM devices_paired WHERE device_id > ? ORDER BY device_id LIMIT ?";
    return (await this.#storage.all<DeviceRow>(sql, [after, limit])).map(readRecord);
  }

  async token(deviceId: string, role: string): Promise<TokenRecord | undefined> {
    const sql = "SELECT * FROM devices_tokens WHERE device_id = ? AND role = ?";
    const row = await this.#storage.get<TokenRow>(sql, [deviceId, role]);
    return row && readToken(row);
  }

  /** @param deviceId absent: the tokens of all devices */
  async tokens(deviceId?: string): Promise<TokenRecord[]> {
    const rows =
      deviceId === undefined
        ? await this.#storage.all<TokenRow>("SELECT * FROM devices_tokens")
        : await this.#storage.all<TokenRow>("SELECT * FROM devices_tokens WHERE device_id = ?", [deviceId]);
    return rows.map(readToken);
  }
}

/** Inserts the record, or replaces exactly the revision that was read; otherwise a conflict. */
export function writeDevice(record: DeviceRecord, before: StoredDevice | undefined): Statement {
  const body = JSON.stringify(record);
  if (!before)
    return {
      sql: `INSERT INTO devices_paired (device_id, revision, approved_at, body) VALUES (?, 1, ?, ?)
        ON CONFLICT (device_id) DO NOTHING`,
      params: [record.deviceId, record.approvedAtMs, body],
      expectChanges: 1,
    };
  return {
    sql: `UPDATE devices_paired SET revision = revision + 1, approved_at = ?, body = ?
      WHERE device_id = ? AND revision = ?`,
    params: [record.approvedAtMs, body, record.deviceId, before.revision],
    expectChanges: 1,
  };
}

/** Checks that the device is unchanged since it was read; otherwise a conflict. */
export function deviceUnchanged({ record, revision }: StoredDevice): Statement {
  return {
    sql: "UPDATE devices_paired SET revision = revision WHERE device_id = ? AND revision = ?",
    params: [record.deviceId, revision],
    expectChanges: 1,
  };
}

/**
 * Inserts the token, or replaces exactly the one that was read; otherwise a conflict. Every renewal changes the salt and
 * every revocation sets `revoked_at`, so these two columns detect concurrent changes. Both end the value of another
 * gateway.
 */
export function writeToken(token: TokenRecord, before: TokenRecord | undefined): Statement {
  const { deviceId, role, salt, scopes, createdAtMs, rotatedAtMs = null, revokedAtMs = null } = token;
  const lastUsedAt = token.lastUsedAtMs ?? null;
  const values = [salt, JSON.stringify(scopes), createdAtMs, rotatedAtMs, revokedAtMs, lastUsedAt];
  if (!before)
    return {
      sql: `INSERT INTO devices_tokens
        (salt, scopes, created_at, rotated_at, revoked_at, last_used_at, device_id, role, adopted)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (device_id, role) DO NOTHING`,
      params: [...values, deviceId, role, token.adopted ?? null],
      expectChanges: 1,
    };
  return {
    sql: `UPDATE devices_tokens
      SET salt = ?, scopes = ?, created_at = ?, rotated_at = ?, revoked_at = ?, last_used_at = ?, adopted = NULL
      WHERE device_id = ? AND role = ? AND salt = ? AND revoked_at IS NOT DISTINCT FROM ?`,
    params: [...values, deviceId, role, before.salt, before.revokedAtMs ?? null],
    expectChanges: 1,
  };
}

/** Records the last use of the token; no effect when the token was replaced meanwhile. */
export function touchToken({ deviceId, role, salt }: TokenRecord, now: number): Statement {
  return {
    sql: "UPDATE devices_tokens SET last_used_at = ? WHERE device_id = ? AND role = ? AND salt = ?",
    params: [now, deviceId, role, salt],
  };
}

/** Ends the value of another gateway; no effect when the token was replaced meanwhile. */
export function endAdopted({ deviceId, role, salt }: TokenRecord): Statement {
  return {
    sql: "UPDATE devices_tokens SET adopted = NULL WHERE device_id = ? AND role = ? AND salt = ?",
    params: [deviceId, role, salt],
  };
}

export function removeTokens(deviceId: string): Statement {
  return { sql: "DELETE FROM devices_tokens WHERE device_id = ?", params: [deviceId] };
}

/** Deletes the record, its tokens and its pending request; a conflict when there is no record. */
export function removeDevice(deviceId: string): readonly Statement[] {
  return [
    { sql: "DELETE FROM devices_paired WHERE device_id = ?", params: [deviceId], expectChanges: 1 },
    removeTokens(deviceId),
    { sql: "DELETE FROM devices_pending WHERE device_id = ?", params: [deviceId] },
  ];
}

function readRecord({ body }: DeviceRow): DeviceRecord {
  return JSON.parse(body) as DeviceRecord; // written by `writeDevice` only
}

function readToken(row: TokenRow): TokenRecord {
  const times = { rotatedAtMs: row.rotated_at, revokedAtMs: row.revoked_at, lastUsedAtMs: row.last_used_at };
  const known = Object.entries(times).flatMap(([name, value]) => (value === null ? [] : [[name, Number(value)]]));
  return {
    deviceId: row.device_id,
    role: row.role,
    salt: row.salt,
    scopes: JSON.parse(row.scopes) as string[], // written by `writeToken` only
    createdAtMs: Number(row.created_at),
    ...(row.adopted === null ? {} : { adopted: row.adopted }),
    ...Object.fromEntries(known),
  };
}
