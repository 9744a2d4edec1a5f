/** Devices of two gateways on one database: a token that one issued or took over is good at the other. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { imports } from "@svc/sdk/import";
import { directory } from "../../directory.ts";
import { emptySchema, withoutPostgres } from "../../postgres.ts";
import { onDatabase } from "../two-gateways.ts";
import { createDevice, openScene, READ, SECRET } from "./scene.ts";

describe("a device token", { skip: withoutPostgres() }, () => {
  it("is good at every gateway on the database, also at one that had a key of its own", async (t) => {
    const config = { ...onDatabase(await emptySchema()), gateway: { auth: { token: SECRET } } };
    const one = await openScene(t, { config });
    const device = createDevice();
    const { deviceToken } = (await one.pair(device, { scopes: [READ] })).auth;

    const stateDir = directory(t);
    const place = join(stateDir, "plugins", "devices");
    await mkdir(place, { recursive: true, mode: 0o700 });
    const former = Buffer.alloc(32, 7).toString("base64url");
    await writeFile(join(place, "token-key"), former, { mode: 0o600 });
    const other = await openScene(t, { config, stateDir });
    const there = await other.byToken(device, deviceToken, { scopes: [READ] });
    assert.deepEqual([there.ok, there.auth?.deviceToken], [true, deviceToken]);
    assert.equal(await readFile(join(place, "token-key.former"), "utf8"), former);

    const { deviceToken: later } = (await other.pair(createDevice(), { scopes: [READ] })).auth;
    assert.notEqual(later, deviceToken);
    const third = await openScene(t, { config });
    assert.equal((await third.byToken(device, deviceToken, { scopes: [READ] })).ok, true);
  });

  it("of a former gateway is good at every gateway on the database, until the new one is used at any of them", async (t) => {
    const config = { ...onDatabase(await emptySchema()), gateway: { auth: { token: SECRET } } };
    const plugins = ["import"];
    const [one, other] = [await openScene(t, { config, plugins }), await openScene(t, { config, plugins })];
    const device = createDevice();
    const { id, publicKey } = device;
    const value = "the-token-of-the-former-gateway";
    const tokens = [{ role: "operator", scopes: [READ], value, createdAt: 1 }];
    const granted = { roles: ["operator"], approvedScopes: [READ], tokens };
    const records = [{ id, publicKey, ...granted, createdAt: 1, approvedAt: 1 }];
    const { outcomes } = await one.client.call(imports.take, { kind: "device", records });
    assert.deepEqual(outcomes, [{ id, action: "take" }]);
    const come = (scene: typeof one, token: string) => scene.byToken(device, token, { scopes: [READ] });
    const { auth } = await come(other, value);
    assert.equal((await come(one, value)).auth?.deviceToken, auth?.deviceToken);
    assert.ok((await come(one, auth?.deviceToken ?? "")).ok);
    assert.equal((await come(other, value)).ok, false);
    const given = await other.client.call(imports.give, { kind: "device" });
    assert.deepEqual(
      given.records.map((record) => record.id),
      [id],
    );
  });
});
