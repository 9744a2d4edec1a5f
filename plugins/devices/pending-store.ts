/** Stores pending requests: one per device, for five minutes, with limits so that one sender cannot crowd out others. */
import { isIPv6 } from "node:net";
import type { Row, Statement, Storage } from "@svc/sdk/storage";
import type { PendingRecord } from "./records.ts";

/** Lifetime of a request in milliseconds, from the last connect that made it. Spec: protocol/methods-device.md "Pending TTL". */
export const PENDING_TTL_MS = 300_000;
/** Choice: maximum pending requests in total, and per address; above the latter the oldest is dropped. */
export const MOST_PENDING = 200;
export const MOST_PENDING_FROM_ONE = 20;

interface PendingRow extends Row {
  readonly ts: number | bigint;
  readonly body: string;
}

export class PendingStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get(requestId: string, now: number): Promise<PendingRecord | undefined> {
    return this.#first("request_id = ?", requestId, now);
  }

  ofDevice(deviceId: string, now: number): Promise<PendingRecord | undefined> {
    return this.#first("device_id = ?", deviceId, now);
  }

  /** The request that replaced this one. */
  successor(requestId: string, now: number): Promise<PendingRecord | undefined> {
    return this.#first("former_id = ?", requestId, now);
  }

  /** Newest first. */
  async list(now: number): Promise<PendingRecord[]> {
    const sql = "SELECT ts, body FROM devices_pending WHERE ts >= ? ORDER BY ts DESC, request_id";
    return (await this.#storage.all<PendingRow>(sql, [now - PENDING_TTL_MS])).map(read);
  }

  async #first(condition: string, value: string, now: number): Promise<PendingRecord | undefined> {
    const sql = `SELECT ts, body FROM devices_pending WHERE ${condition} AND ts >= ?`;
    const row = await this.#storage.get<PendingRow>(sql, [value, now - PENDING_TTL_MS]);
    return row && read(row);
  }
}

/** Renews the lifetime of a request. A conflict when the request no longer exists. */
export function refreshPending(requestId: string, now: number): Statement {
  return {
    sql: "UPDATE devices_pending SET ts = ? WHERE request_id = ? AND ts >= ?",
    params: [now, requestId, now - PENDING_TTL_MS],
    expectChanges: 1,
  };
}

/**
 * Inserts a request, replacing `replaced`. A conflict when `replaced` no longer exists, when the device has another request,
 * or when the maximum is reached.
 */
export function addPending(request: PendingRecord, replaced: PendingRecord | undefined, now: number): Statement[] {
  const { requestId, deviceId, ts: _ts, ...rest } = request;
  const origin = originOf(request.remoteIp);
  const here = "SELECT count(*) FROM devices_pending WHERE origin = ?";
  return [
    { sql: "DELETE FROM devices_pending WHERE ts < ?", params: [now - PENDING_TTL_MS] },
    ...(replaced ? [takePending(replaced.requestId, now)] : []),
    {
      sql: `DELETE FROM devices_pending WHERE (${here}) >= ${MOST_PENDING_FROM_ONE} AND request_id =
        (SELECT request_id FROM devices_pending WHERE origin = ? ORDER BY ts, request_id LIMIT 1)`,
      params: [origin, origin],
    },
    {
      sql: `INSERT INTO devices_pending (request_id, device_id, former_id, origin, ts, body)
        SELECT ?, ?, ?, ?, ?, ? FROM (SELECT count(*) AS n FROM devices_pending) waiting WHERE waiting.n < ${MOST_PENDING}
        ON CONFLICT (device_id) DO NOTHING`,
      params: [
        requestId,
        deviceId,
        replaced?.requestId ?? null,
        origin,
        now,
        JSON.stringify({ requestId, deviceId, ...rest }),
      ],
      expectChanges: 1,
    },
  ];
}

/** Deletes a request; a conflict when it was already deleted or has expired. */
export function takePending(requestId: string, now: number): Statement {
  return {
    sql: "DELETE FROM devices_pending WHERE request_id = ? AND ts >= ?",
    params: [requestId, now - PENDING_TTL_MS],
    expectChanges: 1,
  };
}

/** Choice: an IPv6 /64 network counts as one sender, since one host may use all its addresses. */
export function originOf(address: string | undefined): string {
  const known = address ?? "";
  if (!isIPv6(known) || known.includes(".")) return known;
  const [head = "", tail] = known.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail ? tail.split(":") : [];
  const missing = tail === undefined ? 0 : 8 - left.length - right.length;
  const zeros = Array.from({ length: missing }, () => "0");
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

function read({ ts, body }: PendingRow): PendingRecord {
  return { ...(JSON.parse(body) as PendingRecord), ts: Number(ts) }; // written by `addPending` only
}
