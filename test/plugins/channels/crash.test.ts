// long: kills processes
/** `kill -9` at every step of a message: accepted messages are answered, and texts that the network accepted are not sent again. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startGatewayProcess } from "../../gateway-process.ts";
import { until } from "./scene.ts";

/** A channel as a package on disk; its network is an HTTP server of the test. */
const PLUGIN = `import { definePlugin, Type, unavailable } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";

const post = (url: string, body: object, signal: AbortSignal) => fetch(url, { method: "POST", body: JSON.stringify(body), signal });

export default definePlugin({
  id: "dove",
  api: "^1.0.0",
  section: "channels.dove",
  config: Type.Object({ url: Type.String() }),
  setup(gateway) {
    const { url } = gateway.config;
    gateway.extend(Channel, "dove", defineChannel({
      label: "Dove",
      capabilities: { chats: ["direct"], maxTextChars: 20 },
      accounts: [{ id: "default", allowFrom: ["ann"], settings: {} }],
      target: (text) => text,
      async run({ receive, report, signal }) {
        report({ state: "connected" });
        while (!signal.aborted) {
          const { id, text } = await (await fetch(url + "/next", { signal })).json();
          const receipt = await receive({ id, text, chat: { type: "direct", id: "ann" }, sender: { id: "ann" } });
          await post(url + "/receipt", receipt, signal);
        }
      },
      async send({ text, signal }) {
        const answer = await post(url + "/sent", { text }, signal);
        if (!answer.ok) unavailable("the network is away");
        return {};
      },
    }));
  },
});
`;

type Decision = "take" | "refuse" | "hang";

async function network(t: TestContext) {
  const said: object[] = [];
  const asking: ServerResponse[] = [];
  const sent: string[] = [];
  const hanging: string[] = [];
  const receipts: { accepted: boolean; reason?: string }[] = [];
  let decide: (text: string) => Decision = () => "take";
  const hand = () => {
    while (said.length > 0 && asking.length > 0) {
      const response = asking.shift();
      if (!response?.destroyed) response?.end(JSON.stringify(said.shift()));
    }
  };
  const read = async (request: IncomingMessage) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    return body === "" ? undefined : (JSON.parse(body) as { text: string });
  };
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      if (request.url === "/next") {
        response.once("close", () => asking.splice(asking.indexOf(response), asking.includes(response) ? 1 : 0));
        asking.push(response);
        return hand();
      }
      if (request.url === "/receipt") receipts.push(body as unknown as (typeof receipts)[number]);
      else if (body) {
        const decision = decide(body.text);
        if (decision === "hang") return void hanging.push(body.text);
        if (decision === "take") sent.push(body.text);
        response.statusCode = decision === "take" ? 200 : 503;
      }
      return response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Texts that the network accepted. */
    sent,
    receipts,
    /** Texts that were not answered. */
    hanging,
    /** Hands a message to the channel at its next poll. */
    say(id: string, text: string) {
      said.push({ id, text });
      hand();
    },
    answers: (next: typeof decide) => void (decide = next),
  };
}

describe("kill -9", { timeout: 120_000 }, () => {
  it("loses no accepted message, and repeats nothing the network has answered for", async (t) => {
    const directory = await mkdtemp(join(tmpdir(), "svc-dove-"));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const [state, dove] = [join(directory, "state"), join(directory, "dove")];
    await Promise.all([mkdir(state, { mode: 0o700 }), mkdir(dove)]);
    const manifest = { id: "dove", api: "^1.0.0", entry: "./plugin.ts", section: "channels.dove" };
    const net = await network(t);
    const agents = { defaults: { skipBootstrap: true } };
    const config = { plugins: { load: { paths: [dove] } }, agents, channels: { dove: { url: net.url } } };
    const packed = { name: "dove", version: "1.0.0", type: "module", svc: manifest };
    await writeFile(join(dove, "package.json"), JSON.stringify(packed));
    await writeFile(join(dove, "plugin.ts"), PLUGIN);
    await writeFile(join(state, "svc.json"), JSON.stringify(config));
    const start = async () => {
      const gateway = await startGatewayProcess(state, { SVC_HOME: directory });
      t.after(() => gateway.kill());
      return gateway;
    };

    // Accepted, then killed before an answer.
    const first = await start();
    net.say("1", "echo one");
    await until(() => net.receipts.length === 1, "the receipt");
    await first.kill();
    const answeredBefore = net.sent.length;

    // The answer exists, but the network does not accept it.
    net.answers(() => "refuse");
    const second = await start();
    net.say("1", "echo one");
    await until(() => net.receipts.length === 2, "the second receipt");
    net.say("2", "echo alpha beta gamma delta epsilon");
    await until(() => net.receipts.length === 3, "the third receipt");
    await second.kill();
    const receipts = net.receipts.map(({ accepted, reason }) => reason ?? accepted);
    assert.deepEqual(receipts, [true, "duplicate", true]);
    assert.equal(net.sent.length, answeredBefore);

    // The first part is accepted; the second is in flight when the gateway is killed.
    net.answers((text) => (text.startsWith("delta") ? "hang" : "take"));
    const third = await start();
    await until(() => net.hanging.length === 1, "the second part");
    await third.kill();
    assert.equal(net.sent.at(-1), "alpha beta gamma"); // the first message was asked again, so its answer may come later

    net.answers(() => "take");
    const fourth = await start();
    await until(() => net.sent.length >= 3, "the rest");
    net.say("3", "echo last");
    await until(() => net.sent.includes("last"), "the last answer");
    assert.deepEqual(net.sent.toSorted(), ["alpha beta gamma", "delta epsilon", "last", "one"]);
    await fourth.kill("SIGTERM");
  });
});
