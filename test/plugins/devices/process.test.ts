/** A gateway in its own process: acknowledged changes survive a kill, and no token appears in its output or files. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { devices } from "@svc/sdk/devices";
import { startGatewayProcess } from "../../gateway-process.ts";
import { temporaryDirectory } from "./directory.ts";
import { createDevice, knock, READ, requestOf, WRITE } from "./scene.ts";

it("keeps each decision across kill -9, and writes no token to log or disk", { timeout: 120_000 }, async (t) => {
  const stateDir = await temporaryDirectory(t);
  const logs: string[] = [];
  const tokens: string[] = [];
  const start = async () => {
    const gateway = await startGatewayProcess(stateDir, {}, { logLevel: "debug" });
    t.after(() => gateway.kill());
    const token = (await readFile(join(stateDir, "credentials", "gateway-token"), "utf8")).trim();
    const kill = async () => {
      await gateway.kill("SIGKILL");
      logs.push(gateway.log());
    };
    return { ...gateway, token, kill };
  };
  const [device, waiting, removed] = [createDevice(), createDevice(), createDevice()];

  let gateway = await start();
  const silent = await knock(gateway.url, { device, scopes: [READ], auth: { token: gateway.token } });
  tokens.push(silent.auth?.deviceToken ?? assert.fail("not paired"));
  const request = requestOf(
    await knock(gateway.url, { device: waiting, far: true, scopes: [READ], auth: { token: gateway.token } }),
  );
  await knock(gateway.url, { device: removed, scopes: [READ], auth: { token: gateway.token } });
  let operator = await gateway.connect();
  await operator.call(devices.remove, { deviceId: removed.id });
  await gateway.kill();

  gateway = await start();
  operator = await gateway.connect();
  assert.equal((await operator.call(devices.list, {})).paired.length, 1, "what was removed is gone");
  await operator.call(devices.approve, { requestId: request });
  await gateway.kill();

  gateway = await start();
  operator = await gateway.connect();
  const approved = await knock(gateway.url, {
    device: waiting,
    far: true,
    scopes: [READ],
    auth: { token: gateway.token },
  });
  assert.ok(approved.ok);
  const { token: rotated } = await operator.call(devices.rotate, { deviceId: device.id, role: "operator" });
  tokens.push(rotated);
  await gateway.kill();

  gateway = await start();
  operator = await gateway.connect();
  const auth = { deviceToken: rotated };
  assert.ok((await knock(gateway.url, { device, scopes: [READ], auth })).ok);
  assert.equal((await knock(gateway.url, { device, scopes: [WRITE], auth })).ok, false);
  assert.equal((await knock(gateway.url, { device, auth: { deviceToken: tokens[0] ?? "" } })).ok, false);
  await operator.call(devices.revoke, { deviceId: device.id, role: "operator" });
  await gateway.kill();

  gateway = await start();
  assert.equal((await knock(gateway.url, { device, auth })).ok, false);
  await gateway.kill();

  const files = await readdir(stateDir, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")),
  );
  assert.ok(
    contents.some((content) => content.includes(device.id)),
    "the database is among them",
  );
  assert.match(logs.join(""), /a device was approved.*\n/, "the log is there");
  for (const token of tokens)
    for (const text of [...logs, ...contents]) assert.ok(!text.includes(token), "a token was written down");
});
