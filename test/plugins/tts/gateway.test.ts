/** Speech through a real gateway: methods, tool, command, foreign engines, files, restarts. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { defineContract, isGatewayError, live, notFound, Type } from "@svc/sdk";
import { ChatCommand } from "@svc/sdk/commands";
import { Speech, SpeechEngine, tts } from "@svc/sdk/speech";
import { testGateway, type TestGatewayOptions } from "@svc/sdk/testing";
import { Tool, type ToolResult } from "@svc/sdk/tools";
import { write } from "../../../host/carriers/written.ts";
import { KINDS } from "../../../host/kernel/kinds/index.ts";
import { importPlugin } from "../../../host/kernel/load.ts";
import { root } from "../../checkout.ts";
import { directory, put } from "../../directory.ts";
import { pluginOf } from "../../plugin-of.ts";
import { without } from "../../programs.ts";
import { enginePlugin, heard, MP3, QUIET, speechServer } from "./scene.ts";

interface Options extends TestGatewayOptions {
  readonly tts?: object;
}

async function start(t: TestContext, { tts: own = {}, plugins = [], ...options }: Options = {}) {
  const config = { messages: { tts: { ...QUIET, ...own } } };
  const running = await testGateway(t, { plugins: ["tts", "plugins", ...plugins], config, ...options });
  const { client } = running;
  return {
    ...running,
    status: () => client.call(tts.status, {}),
    convert: (text: unknown, channel?: string) => client.call(tts.convert, { text, ...(channel && { channel }) }),
  };
}

const refused = (code: string, told: RegExp) => (error: unknown) =>
  isGatewayError(error) && error.code === code && told.test(error.message);

describe("tts", { timeout: 120_000 }, () => {
  it("is off at first; enable, disable and setProvider are kept over a restart", async (t) => {
    const stateDir = directory(t);
    const first = await start(t, { stateDir });
    const prefsPath = join(stateDir, "settings", "tts.json");
    const before = await first.status();
    assert.deepEqual(
      [before.enabled, before.auto, before.prefsPath, before.hasElevenLabsKey, before.edgeEnabled],
      [false, "off", prefsPath, false, false],
    );
    assert.deepEqual(await first.client.call(tts.enable, {}), { enabled: true });
    assert.equal((await first.status()).auto, "always");
    assert.deepEqual(await first.client.call(tts.disable, {}), { enabled: false });
    assert.deepEqual(await first.client.call(tts.setProvider, { provider: " Edge " }), { provider: "edge" });
    await first.client.call(tts.enable, {});
    await first.gateway.stop();
    const { enabled, auto, provider } = await (await start(t, { stateDir })).status();
    assert.deepEqual({ enabled, auto, provider }, { enabled: true, auto: "always", provider: "edge" });
  });

  it("lists the engines with the models and voices of the reference", async (t) => {
    const { client } = await start(t, { tts: { openai: { apiKey: "k" } }, plugins: [enginePlugin()] });
    const { providers, active } = await client.call(tts.providers, {});
    assert.equal(active, "openai");
    const [openai, elevenlabs, edge] = providers;
    assert.deepEqual(
      providers.map(({ id }) => id),
      ["openai", "elevenlabs", "edge", "espeak", "voice-box"],
    );
    assert.deepEqual([openai?.configured, openai?.models[0], openai?.voices?.[0]], [true, "gpt-4o-mini-tts", "alloy"]);
    assert.deepEqual([elevenlabs?.models.length, elevenlabs && "voices" in elevenlabs], [3, false]);
    assert.deepEqual(edge, { id: "edge", name: "Edge", configured: false, models: [] });
  });

  it("refuses unknown engines and blank texts as invalid, all other failures as unavailable", async (t) => {
    const silent = enginePlugin({ speak: () => Promise.reject(new Error("secret detail")) });
    const { client, convert } = await start(t, {
      tts: { maxTextLength: 10, provider: "voice-box" },
      plugins: [silent],
    });
    for (const provider of ["nobody", "", undefined, 7, "__proto__"])
      await assert.rejects(client.call(tts.setProvider, { provider }), refused("INVALID_REQUEST", /one of: .*espeak/));
    for (const text of [" \n", "", undefined, 5])
      await assert.rejects(convert(text), refused("INVALID_REQUEST", /blank/));
    await assert.rejects(convert("x".repeat(11)), refused("UNAVAILABLE", /11 characters; at most 10/));
  });

  it("reads every change of its configuration and of its file at once", async (t) => {
    const stateDir = directory(t);
    const { status } = await start(t, { stateDir, tts: { enabled: true, provider: "espeak" } });
    assert.equal((await status()).auto, "always");
    put(join(stateDir, "settings", "tts.json"), '{"tts":{"auto":"tagged"', 0o600);
    assert.equal((await status()).auto, "always", "a half-written file is no preference");
    put(join(stateDir, "settings", "tts.json"), '{"tts":{"auto":"tagged"}}', 0o600);
    assert.equal((await status()).auto, "tagged");
  });

  it("speaks through the HTTP engine into a private file", async (t) => {
    const server = await speechServer(t);
    const { convert, stateDir } = await start(t, { tts: { openai: { apiKey: "k-1", baseUrl: server.url } } });
    const { audioPath, ...facts } = await convert("Hello", "nowhere");
    assert.deepEqual(facts, { provider: "openai", outputFormat: "mp3", voiceCompatible: false });
    assert.deepEqual(readFileSync(audioPath), MP3);
    assert.equal(dirname(audioPath), join(stateDir, "plugins", "tts", "audio"));
    assert.deepEqual([statSync(audioPath).mode & 0o777, statSync(dirname(audioPath)).mode & 0o777], [0o600, 0o700]);
    assert.equal(server.asked[0]?.headers.authorization, "Bearer k-1");
  });

  it("writes the times of words beside the file, if the engine knows them", async (t) => {
    const words = [{ text: "Hello", startMs: 0, endMs: 10 }];
    const timed = enginePlugin({ speak: async () => ({ bytes: MP3, format: "mp3", words }) });
    const { convert } = await start(t, { tts: { provider: "voice-box" }, plugins: [timed] });
    const { audioPath } = await convert("Hello");
    assert.deepEqual(JSON.parse(readFileSync(`${audioPath}.words.json`, "utf8")), words);
  });

  it("deletes its files at stop, and what a crash left at the next use", async (t) => {
    const stateDir = directory(t);
    const audio = join(stateDir, "plugins", "tts", "audio");
    mkdirSync(audio, { recursive: true });
    writeFileSync(join(audio, "left.mp3"), "x");
    const options = {
      stateDir,
      tts: { provider: "voice-box" },
      plugins: [enginePlugin({ speak: async () => ({ bytes: MP3, format: "mp3" }) })],
    };
    const { convert, gateway } = await start(t, options);
    const { audioPath } = await convert("Hello");
    assert.deepEqual(readdirSync(audio), [audioPath.slice(audio.length + 1)]);
    await gateway.reload("tts");
    assert.equal(existsSync(audioPath), false, "a reload ends the paths that were given");
    const again = await convert("Hello");
    await gateway.stop();
    assert.equal(existsSync(again.audioPath), false);
  });

  it("speaks real words without a network", { skip: without("espeak-ng") || without("ffmpeg") }, async (t) => {
    const { convert, client } = await start(t, { tts: { espeak: {} } });
    await client.call(tts.setProvider, { provider: "espeak" });
    const { audioPath, ...facts } = await convert("Good morning, everybody. This is the gateway.");
    assert.deepEqual(facts, { provider: "espeak", outputFormat: "mp3", voiceCompatible: false });
    const { seconds, rms } = heard(audioPath);
    assert.ok(seconds > 1.5 && seconds < 8, `${seconds} s`);
    assert.ok(rms > 0.02, `${rms}`);
  });

  it("has engines of other plugins", async (t) => {
    const { convert, client, status } = await start(t, { plugins: [enginePlugin()] });
    await client.call(tts.setProvider, { provider: "voice-box" });
    const spoken = await convert("Hello");
    assert.equal(spoken.provider, "voice-box");
    assert.equal((await status()).provider, "voice-box");
  });
});

const hands = defineContract("hands", {
  use: { summary: "-", scope: "operator.write", params: Type.Object({ args: Type.Unknown() }), result: Type.Unknown() },
  say: { summary: "-", scope: "operator.write", params: Type.Object({ text: Type.String() }), result: Type.Unknown() },
  stop: { summary: "-", scope: "operator.write", params: Type.Object({}), result: Type.Unknown() },
});

/** Owns the tools and commands in place of their plugins. */
const handsPlugin = pluginOf("hands", { requires: { speech: live(Speech) } }, (gateway) => {
  const tools = gateway.own(Tool);
  const commands = gateway.own(ChatCommand);
  const sessionKey = "agent:main:main";
  gateway.serve(hands, {
    async use({ params: { args }, principal, signal }) {
      const tool = tools.get("tts")?.value ?? notFound("tts");
      const call = { name: "tts", arguments: args as {}, toolCallId: "c", runId: "r", sessionKey, agentId: "main" };
      return (await tool.run(args, { call, principal, signal })) as ToolResult;
    },
    async say({ params: { text }, principal }) {
      const command = commands.get("tts")?.value ?? notFound("tts");
      return command.run({ name: "tts", text, sessionKey, principal, runId: "r", surface: "chat" });
    },
    async stop() {
      await gateway.services.speech.get()?.interrupt(sessionKey);
      return {};
    },
  });
});

describe("speech for agents and people", { timeout: 120_000 }, () => {
  const scene = (
    t: TestContext,
    engine: Partial<SpeechEngine> = { speak: async () => ({ bytes: MP3, format: "mp3" }) },
  ) =>
    start(t, {
      tts: { provider: "voice-box" },
      plugins: ["storage-sqlite", "sessions", enginePlugin(engine), handsPlugin],
    });

  it("is a tool whose result names the file", async (t) => {
    const { client } = await scene(t);
    const result = await client.call(hands.use, { args: { text: "Hello" } });
    const { content, details } = result as ToolResult & { details: { audioPath: string } };
    const { audioPath, ...facts } = details;
    assert.deepEqual(facts, { provider: "voice-box", outputFormat: "mp3", voiceCompatible: false });
    assert.deepEqual(readFileSync(audioPath), MP3);
    assert.match(JSON.stringify(content), new RegExp(audioPath));
    await assert.rejects(client.call(hands.use, { args: {} }), refused("INVALID_REQUEST", /^text required$/));
  });

  it("ends when the person speaks", async (t) => {
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const { client } = await scene(t, {
      speak: () => {
        begin();
        return new Promise<never>(() => undefined);
      },
    });
    const ended = assert.rejects(
      client.call(hands.use, { args: { text: "Hello" } }),
      refused("UNAVAILABLE", /interrupted by a new message/),
    );
    await begun;
    await client.call(hands.stop, {});
    await ended;
  });

  it("is a command for this session and for the engine", async (t) => {
    const { client, stateDir } = await scene(t);
    const say = async (text: string) => ((await client.call(hands.say, { text })) as { reply: string }).reply;
    const engines = /Speech engine: voice-box/;
    assert.match(await say(""), /Answers in this conversation: not spoken\./);
    assert.match(await say("always"), /: spoken\. /);
    assert.match(await say("status"), engines);
    assert.match(await say("INBOUND"), /: spoken after voice messages\./);
    assert.match(await say("default"), /: not spoken\./);
    assert.equal(await say("provider espeak"), "Speech engine: espeak.");
    assert.match(await say("limit 300"), /above 300 characters/);
    assert.equal(await say("summary off"), "Long texts are cut.");
    const stored = JSON.parse(readFileSync(join(stateDir, "settings", "tts.json"), "utf8")) as object;
    assert.deepEqual(stored, { tts: { provider: "espeak", maxLength: 300, summarize: false } });
    await say("provider voice-box");
    const [, path = ""] = /in (\/\S+\.mp3);/.exec(await say("audio Hello there")) ?? [];
    assert.deepEqual(readFileSync(path), MP3);
    for (const wrong of ["loud", "always now", "limit 0", "provider", "provider nobody", "audio"])
      await assert.rejects(say(wrong), (error) => isGatewayError(error) && error.code === "INVALID_REQUEST", wrong);
  });
});

/** A built package whose engine is asleep until it speaks. */
async function sleepingEngine(home: string): Promise<string> {
  const path = join(home, "drowsy");
  const file = join(path, "plugin.mjs");
  const manifest = { id: "drowsy", api: "^1.0.0", entry: "./plugin.mjs", contributes: { "speech.engine": ["drowsy"] } };
  put(join(path, "package.json"), JSON.stringify({ name: "drowsy", version: "1.0.0", type: "module", svc: manifest }));
  const code = `import { definePlugin } from ${JSON.stringify(join(root, "sdk/dist/index.js"))};
import { SpeechEngine } from ${JSON.stringify(join(root, "sdk/dist/speech.js"))};
const bytes = Buffer.from(${JSON.stringify(MP3.toString("base64"))}, "base64");
const engine = { label: "Drowsy", missing: async () => undefined, speak: async () => ({ bytes, format: "mp3" }) };
export default definePlugin({ id: "drowsy", api: "^1.0.0", setup: (gateway) => gateway.extend(SpeechEngine, "drowsy", engine) });
`;
  put(file, code);
  const declared = await write(await importPlugin(file, false), KINDS, file);
  put(join(path, "declared.json"), JSON.stringify(declared));
  put(file, code); // newer than the import above, so that the gateway imports it again
  return path;
}

describe("an engine of a plugin that is asleep", { timeout: 120_000 }, () => {
  it("can be selected without waking, and speaks", async (t) => {
    const path = await sleepingEngine(directory(t));
    const { client, gateway, convert } = await start(t, { plugins: [path] });
    const isAsleep = () => gateway.plugins().find(({ id }) => id === "drowsy")?.asleep;
    assert.equal(isAsleep(), true);
    await client.call(tts.setProvider, { provider: "drowsy" });
    assert.equal(isAsleep(), true);
    assert.equal((await convert("Hello")).provider, "drowsy");
    assert.notEqual(isAsleep(), true);
  });
});
