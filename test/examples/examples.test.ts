/** The examples run as their READMEs say. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { connect } from "@svc/sdk/client";
import { models } from "@svc/sdk/models";
import { testGateway } from "@svc/sdk/testing";
import greetPlugin, { greet, greeted } from "../../examples/own-namespace/greet.ts";
import { root } from "../checkout.ts";
import { directory } from "../directory.ts";
import { cleanEnvironment, startGatewayProcess } from "../gateway-process.ts";

describe("examples/own-namespace", () => {
  it("runs from its configuration, as TypeScript, without a build", async (t) => {
    const gateway = await startGatewayProcess(directory(t), {
      SVC_CONFIG_PATH: join(root, "examples/own-namespace/svc.json"),
    });
    t.after(() => gateway.kill());
    await using client = await gateway.connect();
    const names: string[] = [];
    client.on(greeted, ({ name }) => names.push(name));
    assert.deepEqual(await client.call(greet.hello, { name: "Ada" }), { text: "Good morning, Ada!" });
    assert.deepEqual(await client.call(greet.count, {}), { greeted: 1 });
    assert.deepEqual(names, ["Ada"]);
    await assert.rejects(client.request("greet.hello", { name: "" }), /invalid greet\.hello params: at \/name: /);
  });

  it("is a plugin a test can start by itself, with its contract's scopes", async (t) => {
    const { client } = await testGateway(t, { plugins: [greetPlugin], scopes: ["operator.read"] });
    assert.deepEqual(await client.call(greet.count, {}), { greeted: 0 });
    await assert.rejects(client.call(greet.hello, { name: "Ada" }), /missing scope: operator\.write/);
  });
});

describe("examples/trimmed-gateway", () => {
  it("is a gateway inside a program, with three plugins and nothing else", async (t) => {
    const stateDir = directory(t);
    const program = join(root, "examples/trimmed-gateway/gateway.ts");
    const child = spawn(process.execPath, [join(root, "node_modules/jiti/lib/jiti-cli.mjs"), program], {
      env: cleanEnvironment(stateDir, { SVC_GATEWAY_PORT: "0", JITI_FS_CACHE: "false" }),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    t.after(() => child.kill("SIGKILL"));
    const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve));
    const [, url = "", plugins] = /^(ws:\S+) with (.*)$/.exec(line) ?? [];
    assert.equal(plugins, "clock, models, provider-offline");
    const token = (await readFile(join(stateDir, "credentials/gateway-token"), "utf8")).trim();
    const client = await connect({ url, token });
    assert.deepEqual(client.hello.features.methods.toSorted(), ["clock.now", "models.authStatus", "models.list"]);
    await assert.rejects(client.request("sessions.list"), /provided by plugin sessions, which is not enabled/);
    await client.close();
    child.kill("SIGTERM");
    assert.equal(await exited, 0);
  });

  it("makes the same choice by configuration", async (t) => {
    const gateway = await startGatewayProcess(directory(t), {
      SVC_CONFIG_PATH: join(root, "examples/trimmed-gateway/svc.json"),
    });
    t.after(() => gateway.kill());
    await using client = await gateway.connect();
    assert.deepEqual(client.hello.features.methods, ["models.list", "models.authStatus"]);
    assert.equal((await client.call(models.list, {})).models.length, 1);
  });
});
