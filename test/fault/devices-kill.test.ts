/**
 * `kill -9` while devices are approved, rotated, revoked and removed: every acknowledged change persists completely.
 * SVC_FAULT_KILLS sets the number of kills (default 12), SVC_FAULT_SEED repeats their moments.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { isGatewayError } from "@svc/sdk";
import { connect, type GatewayClient } from "@svc/sdk/client";
import { createDevice, type KeptDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { createRandom, pause, SEED } from "./workload.ts";

const KILLS = Number(process.env["SVC_FAULT_KILLS"] ?? 12);
const SECRET = "the-secret-of-this-gateway";
const READ = ["operator.read"];

/** A device and its last acknowledged state. */
interface Known {
  readonly device: KeptDevice;
  state: "approved" | "revoked" | "removed";
  /** Issued values; only the last one is valid, if any. */
  readonly tokens: string[];
  /** A change was sent but not acknowledged when the gateway was killed: both outcomes are valid. */
  open: boolean;
}

class Devices {
  readonly known: Known[] = [];
  acts = 0;

  async write(running: GatewayProcess, over: AbortSignal): Promise<void> {
    const admin = await running.connect();
    while (!over.aborted) {
      const one: Known = { device: createDevice(), state: "approved", tokens: [], open: true };
      await this.#approve(running, admin, one);
      this.known.push(one);
      for (const act of ["rotate", "revoke", "rotate", "remove"] as const) {
        if (this.known.length % 3 === 0 && act === "remove") break;
        one.open = true;
        await this.#act(admin, one, act);
        one.open = false;
        this.acts += 1;
        if (over.aborted) break;
      }
    }
    await admin.close();
  }

  async #approve({ url }: GatewayProcess, admin: GatewayClient, one: Known): Promise<void> {
    const join = () => connect({ url, token: SECRET, device: one.device, scopes: READ });
    const requestId = await join().then(
      () => assert.fail("let in unasked"),
      (error: unknown) => String((isGatewayError(error) ? (error.details as { requestId?: string }) : {}).requestId),
    );
    await admin.call(devices.approve, { requestId });
    const client = await join();
    one.tokens.push(client.hello.auth?.deviceToken ?? assert.fail());
    one.open = false;
    this.acts += 1;
    await client.close();
  }

  async #act(admin: GatewayClient, one: Known, act: "rotate" | "revoke" | "remove"): Promise<void> {
    const which = { deviceId: one.device.id, role: "operator" };
    if (act === "remove") {
      await admin.call(devices.remove, { deviceId: one.device.id });
      one.state = "removed";
    } else if (act === "revoke") {
      await admin.call(devices.revoke, which);
      one.state = "revoked";
    } else {
      one.tokens.push((await admin.call(devices.rotate, which)).token);
      one.state = "approved";
    }
  }

  /** Records and tokens match the acknowledgements; no earlier token is accepted; no record lacks its token. */
  async check(running: GatewayProcess, context: string): Promise<void> {
    const admin = await running.connect();
    const { paired } = await admin.call(devices.list, {});
    await admin.close();
    const records = new Map(paired.map((record) => [record.deviceId, record]));
    for (const record of paired) {
      const [token, ...more] = record.tokens ?? [];
      assert.deepEqual(
        [token?.role, token?.scopes, more],
        ["operator", READ, []],
        `${context}: a record without its token`,
      );
      assert.deepEqual([record.roles, record.scopes], [["operator"], READ], context);
    }
    for (const { device, state, tokens, open } of this.known) {
      const record = records.get(device.id);
      if (!open) {
        const found = record === undefined ? "removed" : record.tokens?.[0]?.revokedAtMs ? "revoked" : "approved";
        assert.equal(found, state, `${context}: an acknowledged act is lost`);
      }
      for (const [index, token] of tokens.entries()) {
        const isLast = index === tokens.length - 1;
        if (isLast && open) continue;
        const isIn = await comesIn(running, device, token);
        assert.equal(
          isIn,
          isLast && state === "approved",
          `${context}: token ${index + 1} of ${tokens.length}, ${state}`,
        );
      }
    }
    this.known.length = 0;
  }
}

async function comesIn({ url }: GatewayProcess, device: KeptDevice, token: string): Promise<boolean> {
  try {
    await (await connect({ url, device, deviceToken: () => token, scopes: READ })).close();
    return true;
  } catch (error) {
    if (isGatewayError(error) && error.message.includes("device token mismatch")) return false;
    throw error;
  }
}

it(`no decision about a device is lost or half done in ${KILLS} kills`, { timeout: 600_000 }, async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-kill-"));
  const config = { devices: { localApproval: "ask" }, gateway: { auth: { token: SECRET } } };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const start = () => startGatewayProcess(stateDir, {}, { token: SECRET });
  let running = await start();
  t.after(async () => {
    await running.kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  const random = createRandom(SEED);
  const all = new Devices();
  for (let kill = 0; kill < KILLS; kill++) {
    const context = `seed ${SEED}, kill ${kill}`;
    const over = new AbortController();
    const refusals: unknown[] = [];
    const writers = [0, 1, 2].map(() =>
      all.write(running, over.signal).catch((error: unknown) => {
        if (!over.signal.aborted) refusals.push(error);
      }),
    );
    await pause(100 + random() * 300);
    over.abort();
    await running.kill();
    await Promise.all(writers);
    assert.deepEqual(refusals, [], `${context}: refused before the kill`);
    running = await start();
    await all.check(running, context);
  }
  t.diagnostic(`seed ${SEED}: ${all.acts} acts acknowledged in ${KILLS} lives`);
  assert.ok(all.acts > KILLS, "there was something to lose");
});
