/** The way of a user in a terminal: the plugin is installed, the code is scanned from the screen, and the account answers. */
// own process: it starts gateways and commands
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";
import { directory } from "../../directory.ts";
import { cleanEnvironment, startGatewayProcess } from "../../gateway-process.ts";
import { svc } from "../../run-svc.ts";
import { until } from "../../until.ts";
import { createPerson } from "./person.ts";
import { readQr } from "./qr.ts";
import { ADA, OWN, SUITE_MS } from "./scene.ts";
import { startServer } from "./server.ts";

it("links a number from the terminal", { timeout: SUITE_MS }, async (t) => {
  const server = await startServer(t);
  const ada = await createPerson(t, server, ADA);
  const stateDir = directory(t);
  const whatsapp = { transport: "web", webUrl: server.url, allowFrom: [ADA] };
  const config = { agents: { defaults: { skipBootstrap: true } }, channels: { whatsapp } };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(config));
  const gateway = await startGatewayProcess(stateDir);
  t.after(() => gateway.kill());
  const url = ["--url", gateway.url, "--token", gateway.token];

  const missing = await svc(stateDir, ["channels", "login", "whatsapp", ...url]);
  assert.equal(missing.code, 1);
  assert.match(missing.text, /no plugin contributes the transport whatsapp\.web/);
  assert.match(missing.text, /svc plugins install @svc\/plugin-whatsapp-web/);
  const install = ["plugins", "install", join(root, "plugins/whatsapp-web"), "--link"];
  const asked = await svc(stateDir, install);
  assert.equal(asked.code, 1);
  assert.match(asked.text, /describes itself as ".* Depends on libsignal, which is GPL-3\.0\."/);
  const installed = await svc(stateDir, [...install, "--yes"]);
  assert.equal(installed.code, 0, installed.text);
  await gateway.kill();
  const again = await startGatewayProcess(stateDir);
  t.after(() => again.kill());

  const args = ["channels", "login", "whatsapp", "--url", again.url, "--token", again.token];
  const login = spawn(process.execPath, [join(root, "host/cli/svc.js"), ...args], { env: cleanEnvironment(stateDir) });
  t.after(() => login.kill());
  let screen = "";
  for (const output of [login.stdout, login.stderr])
    output.setEncoding("utf8").on("data", (text: string) => void (screen += text));
  const ended = new Promise<number | null>((resolve) => login.on("close", resolve));
  await until(() => /▀{20,}\r?\n/.test(screen), "the code on the screen");
  await server.scans(readQr(screen), OWN);
  assert.equal(await ended, 0, screen);
  assert.match(screen, new RegExp(`The gateway is linked with \\+${OWN}\\.`));
  assert.match(screen, /whatsapp is connected\./);
  await ada.sends(OWN, { text: "echo hello" });
  await until(() => ada.heard().includes("hello"), "the answer");
  assert.doesNotMatch(again.log(), /privKey|rootKey|Closing session|<Buffer/);
});
