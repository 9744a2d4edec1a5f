/** Devices that wait, on disk: one request each, for five minutes, and never so many that one sender crowds others out. */
import { isIPv6 } from "node:net";
import type { Row, Statement, Storage } from "@svc/sdk/storage";
import type { PendingRecord } from "./records.ts";

/** Milliseconds from the last connect that asked for it. Spec: protocol/methods-device.md "Pending TTL". */
export const PENDING_TTL_MS = 300_000;
/** Choice: requests that wait in all, and from one address; of the latter the oldest goes. */
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

  /** The request that took the place of this one. */
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

/** The request was made again. A conflict when it is gone. */
export function refreshPending(requestId: string, now: number): Statement {
  return {
    sql: "UPDATE devices_pending SET ts = ? WHERE request_id = ? AND ts >= ?",
    params: [now, requestId, now - PENDING_TTL_MS],
    expectChanges: 1,
  };
}

/**
 * Puts a request there, in the place of the one it replaces. A conflict when that one is gone or another came first, or
 * when there is no room left.
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

/** Takes a request away; a conflict when somebody else did, or it has expired. */
export function takePending(requestId: string, now: number): Statement {
  return {
    sql: "DELETE FROM devices_pending WHERE request_id = ? AND ts >= ?",
    params: [requestId, now - PENDING_TTL_MS],
    expectChanges: 1,
  };
}

/** Choice: a network of IPv6 is one sender, since one host has all addresses of a /64. */
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
