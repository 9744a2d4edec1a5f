/** A gateway process, a node process, and `svc` commands of an operator. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { root } from "../checkout.ts";
import { freePort } from "../free-port.ts";
import { cleanEnvironment, type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { type NodeProcess, startNodeProcess } from "./node-process.ts";

/** The gateway's secret. */
export const TOKEN = "gateway-token-of-the-test";

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Scene {
  readonly gatewayDir: string;
  readonly nodeDir: string;
  gateway(): GatewayProcess;
  /** `kill -9`, then a restart at the same port. */
  crash(): Promise<void>;
  /** Runs a command of the operator. */
  svc(args: readonly string[], onError?: (text: string) => void): Promise<Finished>;
  /** @param token token of the gateway; default: none */
  startNode(token?: string): NodeProcess;
  operator(): Promise<GatewayClient>;
  /** Creates a program on the node's PATH. @returns its path */
  program(name: string, text: string): string;
}

/** Devices of this machine also need an approval. */
export async function scene(t: TestContext): Promise<Scene> {
  const directory = mkdtempSync(join(tmpdir(), "svc-nodes-"));
  const [gatewayDir, nodeDir, bin] = ["gateway", "node", "node/bin"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [gatewayDir, nodeDir, bin]) mkdirSync(made, { recursive: true, mode: 0o700 });
  const config = { devices: { localApproval: "ask" }, gateway: { auth: { token: TOKEN } } };
  writeFileSync(join(gatewayDir, "svc.json"), JSON.stringify(config));
  const port = String(await freePort());
  const start = () => startGatewayProcess(gatewayDir, {}, { token: TOKEN, port });
  let gateway = await start();
  t.after(async () => {
    await gateway.kill(); // it writes to the directory
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  });
  const clients: GatewayClient[] = [];
  t.after(() => Promise.all(clients.map((client) => client.close())));
  return {
    gatewayDir,
    nodeDir,
    gateway: () => gateway,
    async crash() {
      await gateway.kill("SIGKILL");
      gateway = await start();
    },
    async svc(args, onError) {
      const child = spawn(process.execPath, [join(root, "host/cli/svc.js"), ...args], {
        env: cleanEnvironment(gatewayDir),
        timeout: 60_000,
      });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => {
        stderr += chunk.toString();
        onError?.(stderr);
      });
      child.stdin.end();
      const [code] = (await once(child, "close")) as [number | null];
      return { code, stdout, stderr };
    },
    startNode: (token) =>
      startNodeProcess(
        t,
        nodeDir,
        ["--url", gateway.url, "--name", "workshop", ...(token === undefined ? [] : ["--token", token])],
        { PATH: `${bin}:${process.env["PATH"]}` },
      ),
    async operator() {
      const client = await gateway.connect();
      clients.push(client);
      return client;
    },
    program(name, text) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
      return realpathSync(join(bin, name));
    },
  };
}

/** The output of a command that must succeed. */
export async function done({ svc }: Scene, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await svc(args);
  assert.equal(code, 0, `svc ${args.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

/** A node approved with the commands a person would use. */
export async function approvedNode(at: Scene): Promise<{ node: NodeProcess; nodeId: string }> {
  const node = at.startNode(TOKEN);
  const waiting = await node.until("waiting");
  const next = String(waiting["next"]);
  assert.match(next, /^svc devices approve \S+$/);
  await done(at, next.split(" ").slice(1));
  const { nodeId } = await node.until("connected");
  return { node, nodeId: String(nodeId) };
}

export async function setPolicy(at: Scene, nodeId: string, defaults: object): Promise<void> {
  const path = join(at.gatewayDir, "policy.json");
  writeFileSync(path, JSON.stringify({ version: 1, defaults }));
  await done(at, ["approvals", "set", "--file", path, "--node", nodeId]);
}
