/** Speech: servers and commands, with files of real programs. */
// own process: it sets a variable of the environment
import assert from "node:assert/strict";
import { chmodSync, utimesSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { ModelAccounts, ProviderAccount } from "@svc/sdk/models";
import { createFakeClock } from "@svc/sdk/testing";
import { directory } from "../../directory.ts";
import { without } from "../../programs.ts";
import { until } from "../../until.ts";
import { silence, speech, tone, video } from "./sound-files.ts";
import { json, speechServer } from "./speech-server.ts";
import { NO_FFMPEG, parts, type PartsOptions } from "./understanding.ts";

const WAV = Buffer.from("RIFF\0\0\0\0WAVEfmt rest");
const wav = { bytes: WAV, mimeType: "audio/wav" };

/** Without ffmpeg, so that files need not be real. */
const plain = (t: TestContext, audio: object, more: PartsOptions = {}) =>
  parts(t, { ffmpeg: NO_FFMPEG, ...more, config: { audio, ...more.config } });

const account = (base: ProviderAccount): ModelAccounts => ({ use: (_provider, work) => work(base) });

/** A command that runs this JavaScript. */
function command(t: TestContext, code: string): string {
  const file = join(directory(t), "engine");
  writeFileSync(file, `#!${process.execPath}\n${code}`);
  chmodSync(file, 0o700);
  return file;
}

describe("a transcription server", { timeout: 120_000 }, () => {
  it("gets the file under a name of the gateway, with model, language and prompt", async (t) => {
    const { url, uploads } = await speechServer(t, json({ text: " hello there \n" }));
    const models = [{ baseUrl: `${url}/`, apiKey: "k-1", model: "large", language: "en", headers: { "x-own": "1" } }];
    const { transcription, left } = plain(t, { models, prompt: "Names: Ann", language: "de" });
    assert.deepEqual(await transcription.transcribe(wav), { text: "hello there" });
    const [upload] = uploads;
    assert.equal(upload?.path, "/v1/audio/transcriptions");
    assert.deepEqual(upload.fields, { model: "large", response_format: "json", language: "en", prompt: "Names: Ann" });
    assert.deepEqual([upload.file.name, upload.file.type], ["audio.wav", "audio/wav"]);
    assert.deepEqual(upload.file.bytes, WAV);
    assert.deepEqual([upload.headers.authorization, upload.headers["x-own"]], ["Bearer k-1", "1"]);
    assert.deepEqual(left(), []);
  });

  it("is that of a provider, with its key and headers, at an own address where there is one", async (t) => {
    const { url, uploads } = await speechServer(t);
    const accounts = account({ name: "open", baseUrl: url, apiKey: "k-2", headers: { "x-team": "a" } });
    const other = await speechServer(t);
    const models = [{ provider: "open" }];
    await plain(t, { models }, { accounts }).transcription.transcribe(wav);
    await plain(t, { models, baseUrl: other.url }, { accounts }).transcription.transcribe(wav);
    for (const upload of [uploads[0], other.uploads[0]]) {
      assert.deepEqual([upload?.headers.authorization, upload?.headers["x-team"]], ["Bearer k-2", "a"]);
      assert.equal(upload?.fields["model"], "whisper-1");
    }
    assert.equal(uploads.length, 1);
  });

  it("may have a key that is a reference", async (t) => {
    const { url, uploads } = await speechServer(t);
    const models = [{ baseUrl: url, apiKey: { source: "env", id: "KEY" } }];
    await plain(t, { models }, { secrets: { KEY: "k-3" } }).transcription.transcribe(wav);
    assert.equal(uploads[0]?.headers.authorization, "Bearer k-3");
    const refused = plain(t, { models }).transcription.transcribe(wav);
    await assert.rejects(refused, {
      code: "UNAVAILABLE",
      message: /its key is a secret reference, .* enable the plugin secrets/,
    });
    assert.equal(uploads.length, 1);
  });

  const failures: [what: string, answer: Parameters<typeof speechServer>[1], message: RegExp][] = [
    ["HTML", (response) => void response.end("<html>hi</html>"), /sent no JSON with a text; check baseUrl/],
    ["10 MB", (response) => void response.end(Buffer.alloc(10_000_000, 32)), /sent more than 1000000 bytes/],
    ["JSON without a text", json({ words: [] }), /sent no JSON with a text/],
    [
      "401 that quotes the key",
      json({ error: { message: "bad key k-secret" } }, 401),
      /answered 401\. It says: bad key \*\*\*/,
    ],
    ["500", json({}, 500), /answered 500/],
    [
      "a redirect",
      (response) => void response.writeHead(307, { location: "http://127.0.0.1:9/" }).end(),
      /answered 307; redirects are not followed/,
    ],
    ["no answer", (response) => void response.destroy(), /cannot be reached/],
  ];
  for (const [what, answer, message] of failures) {
    it(`that answers ${what} is a failure with its reason, and the next engine is tried`, async (t) => {
      const { url } = await speechServer(t, answer);
      const models = [{ baseUrl: url, apiKey: "k-secret" }];
      await assert.rejects(plain(t, { models }).transcription.transcribe(wav), { code: "UNAVAILABLE", message });
      const second = await speechServer(t, json({ text: "second" }));
      const both = plain(t, { models: [...models, { baseUrl: second.url }] });
      assert.deepEqual(await both.transcription.transcribe(wav), { text: "second" });
    });
  }

  it("that hangs is left at its time limit, and at the stop of the plugin", async (t) => {
    const { url, uploads } = await speechServer(t, () => undefined);
    const clock = createFakeClock();
    const { transcription, stop, left } = plain(t, { models: [{ baseUrl: url, timeoutSeconds: 5 }] }, { clock });
    const late = transcription.transcribe(wav);
    late.catch(() => undefined);
    await until(() => uploads.length === 1);
    await clock.advance(5_000);
    await assert.rejects(late, { code: "UNAVAILABLE", message: /longer than 5 s \(timeoutSeconds\)/ });
    const stopped = transcription.transcribe(wav);
    stopped.catch(() => undefined);
    await until(() => uploads.length === 2);
    stop();
    await assert.rejects(stopped, /stopped/);
    assert.deepEqual(left(), []);
  });

  it("sees no more files at a time than concurrency allows", async (t) => {
    const open: (() => void)[] = [];
    const { url, uploads } = await speechServer(t, (response) => void open.push(() => response.end('{"text":"x"}')));
    const { transcription } = plain(t, { models: [{ baseUrl: url }] }, { config: { concurrency: 1 } });
    const both = Promise.all([transcription.transcribe(wav), transcription.transcribe(wav)]);
    await until(() => uploads.length === 1);
    open.shift()?.();
    await until(() => uploads.length === 2);
    open.shift()?.();
    assert.equal((await both).length, 2);
  });
});

describe("what is transcribed", () => {
  const server = { models: [{ baseUrl: "http://127.0.0.1:9/v1" }] };
  const refused: [why: string, audio: object, message: RegExp][] = [
    ["nothing without an engine", {}, /no engine is configured; set tools\.media\.audio\.models/],
    ["nothing if it is off", { ...server, enabled: false }, /tools\.media\.audio\.enabled is false/],
    ["no larger file", { ...server, maxBytes: 5 }, /at most 5 \(tools\.media\.audio\.maxBytes\)/],
    ["nothing in another session", { ...server, scope: { default: "deny" } }, /tools\.media\.audio\.scope/],
    ["nothing by an entry for smaller files", { models: [{ ...server.models[0], maxBytes: 5 }] }, /no engine/],
  ];
  for (const [why, audio, message] of refused)
    it(why, (t) => assert.rejects(plain(t, audio).transcription.transcribe(wav), { message }));

  it("by the entries in order: of the section, of all kinds, and the older form", async (t) => {
    const bad = "http://127.0.0.1:9/v1";
    const { transcription } = plain(
      t,
      { models: [{ baseUrl: bad, provider: "one", apiKey: "k" }] },
      {
        config: {
          models: [
            { baseUrl: bad, provider: "two", apiKey: "k" },
            { baseUrl: bad, provider: "pictures", apiKey: "k", capabilities: ["image"] },
          ],
        },
        older: { transcription: { command: ["/nowhere/three"] } },
      },
    );
    const [, message = ""] = await transcription.transcribe(wav).then(
      () => [],
      (error: Error) => ["", error.message],
    );
    const order = [...message.matchAll(/(\S+) \((?:tools\.media|audio)/g)].map(([, name]) => name);
    assert.deepEqual(order, ["one", "two", "/nowhere/three"]);
  });

  it("is cut at maxChars", async (t) => {
    const { url } = await speechServer(t, json({ text: "abcdef" }));
    const { transcription } = plain(t, { maxChars: 5, models: [{ baseUrl: url }, { baseUrl: url }] });
    assert.deepEqual(await transcription.transcribe(wav), { text: "abcde" });
  });
});

describe("a command that transcribes", { timeout: 120_000 }, () => {
  it("gets the path, and none of the gateway's secrets", async (t) => {
    process.env["SVC_GATEWAY_TOKEN"] = "canary-1";
    t.after(() => void delete process.env["SVC_GATEWAY_TOKEN"]);
    const tell = `console.log(JSON.stringify({ args: process.argv.slice(2), env: process.env, cwd: process.cwd() }));`;
    const engine = command(t, tell);
    const args = ["-f", "{{MediaPath}}", "-l", "{{Language}}", "{{Prompt}}", "{{Other}}"];
    const models = [{ type: "cli", command: engine, args, prompt: "{{MediaPath}} $(id)" }];
    const { transcription, root, left } = plain(t, { models });
    const { text } = await transcription.transcribe({ bytes: WAV, mimeType: "../../etc/passwd" });
    const told = JSON.parse(text) as { args: string[]; env: object; cwd: string };
    const [, path = "", ...rest] = told.args;
    assert.ok(path.startsWith(join(root, "files")) && path.endsWith("/input.wav"), path);
    assert.deepEqual(rest, ["-l", "auto", "{{MediaPath}} $(id)", "{{Other}}"]);
    assert.doesNotMatch(text, /canary-1/);
    assert.ok(path.startsWith(told.cwd));
    assert.deepEqual(left(), []);
  });

  it("may write its text to a file, and gets the path last by default", async (t) => {
    const write = `require("node:fs").writeFileSync(process.argv[2] + ".txt", "from " + process.argv[3].split("/").at(-1)); console.log("noise");`;
    const older = { transcription: { command: [command(t, write), "{{OutputBase}}"] } };
    const { transcription } = plain(t, {}, { older });
    assert.deepEqual(await transcription.transcribe(wav), { text: "from input.wav" });
  });

  const failures: [what: string, code: string, message: RegExp][] = [
    ["fails", `console.error("no model"); process.exit(3);`, /it failed: no model/],
    ["prints 10 MB", `process.stdout.write("x".repeat(10_000_000));`, /it printed too much/],
    ["writes 10 MB", `require("node:fs").writeFileSync(process.argv[2] + ".txt", "x".repeat(1e7));`, /wrote too much/],
    ["hangs", `setInterval(() => {}, 1_000);`, /longer than 1 s/],
  ];
  for (const [what, code, message] of failures) {
    it(`and ${what} is a failure with its reason`, async (t) => {
      const models = [{ command: command(t, code), timeoutSeconds: 1 }];
      const { transcription, left } = plain(t, { models });
      await assert.rejects(transcription.transcribe(wav), { code: "UNAVAILABLE", message });
      assert.deepEqual(left(), []);
    });
  }

  it("is found on PATH, and refused if it is not there", async (t) => {
    const { transcription } = plain(t, { models: [{ command: "no-such-engine" }] });
    await assert.rejects(transcription.transcribe(wav), /not on PATH; install it/);
  });

  it("gets WAV at 16 kHz whatever the format is", { skip: without("ffmpeg") }, async (t) => {
    const facts = `const b = require("node:fs").readFileSync(process.argv[2]); console.log(b.toString("latin1", 0, 4), b.readUInt16LE(22), b.readUInt32LE(24));`;
    const models = [{ command: command(t, facts) }];
    const { transcription } = parts(t, { config: { audio: { models } } });
    const sound = { bytes: tone("ogg", "-ar", "48000", "-ac", "2"), mimeType: "audio/ogg" };
    assert.deepEqual(await transcription.transcribe(sound), { text: "RIFF 1 16000" });
  });
});

describe("a sound file", { skip: without("ffmpeg"), timeout: 120_000 }, () => {
  const heard = async (t: TestContext) => {
    const { url, uploads } = await speechServer(t, json({ text: "ok" }));
    return { uploads, ...parts(t, { config: { audio: { models: [{ baseUrl: url }] } } }) };
  };

  it("of a format that servers accept is sent as it is, whatever is declared", async (t) => {
    const { uploads, transcription } = await heard(t);
    for (const ending of ["ogg", "mp3", "flac", "m4a", "wav", "webm"])
      await transcription.transcribe({ bytes: tone(ending), mimeType: "application/evil" });
    const names = uploads.map(({ file }) => `${file.name} ${file.type}`);
    assert.deepEqual(names, [
      "audio.ogg audio/ogg",
      "audio.mp3 audio/mpeg",
      "audio.flac audio/flac",
      "audio.m4a audio/mp4",
      "audio.wav audio/wav",
      "audio.webm audio/webm",
    ]);
  });

  it("of another format, and a video, are converted", async (t) => {
    const { uploads, transcription, left } = await heard(t);
    await transcription.transcribe({ bytes: tone("aiff"), mimeType: "audio/aiff" });
    await transcription.transcribe({ bytes: video(2), mimeType: "video/mp4" });
    for (const { file } of uploads) {
      assert.equal(`${file.name} ${file.type}`, "audio.flac audio/flac");
      assert.equal(file.bytes.toString("latin1", 0, 4), "fLaC");
    }
    assert.equal(uploads.length, 2);
    assert.deepEqual(left(), []);
  });

  it("of speech reaches the engine as speech", { skip: without("espeak-ng") }, async (t) => {
    const { uploads, transcription } = await heard(t);
    const bytes = speech();
    assert.deepEqual(await transcription.transcribe({ bytes, mimeType: "audio/wav" }), { text: "ok" });
    assert.deepEqual(uploads[0]?.file.bytes, bytes);
  });

  const hostile: [what: string, bytes: () => Buffer, message: RegExp][] = [
    ["hours of silence", () => silence(4_000), /has 67 minutes; at most 30 are transcribed/],
    ["a video without sound", () => video(2, { sound: false }), /the file has no sound/],
    ["half a file", () => tone("m4a").subarray(0, 200), /damaged/],
    ["a playlist", () => Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"), /damaged/],
    ["a list of files", () => Buffer.from("ffconcat version 1.0\nfile /etc/hostname\n"), /damaged.*|not on whitelist/],
    ["nothing", () => Buffer.alloc(0), /damaged/],
  ];
  for (const [what, bytes, message] of hostile) {
    it(`that is ${what} is refused before an engine gets it`, async (t) => {
      const { uploads, transcription, left } = await heard(t);
      const refused = transcription.transcribe({ bytes: bytes(), mimeType: "audio/mp4" });
      await assert.rejects(refused, { code: "INVALID_REQUEST", message });
      assert.equal(uploads.length, 0);
      assert.deepEqual(left(), []);
    });
  }

  it("of another format is refused without ffmpeg, with the package to install", async (t) => {
    const { transcription } = plain(t, { models: [{ baseUrl: "http://127.0.0.1:9/v1" }] });
    const refused = transcription.transcribe({ bytes: tone("aiff"), mimeType: "audio/aiff" });
    await assert.rejects(refused, { code: "UNAVAILABLE", message: /install the package ffmpeg/ });
  });
});

describe("directories for programs", () => {
  it("that a crash left behind are removed an hour later", async (t) => {
    const { scratch, root, left } = plain(t, {});
    const [old, fresh] = [join(root, "files", "file-old"), join(root, "files", "file-fresh")];
    for (const path of [old, fresh]) mkdirSync(path, { recursive: true });
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(old, hoursAgo, hoursAgo);
    assert.equal(await scratch.clean(true), 1);
    assert.equal(left().length, 2, "a dry run only counts");
    await scratch.use(async () => undefined);
    assert.deepEqual(left(), [join("files", "file-fresh")]);
  });

  it("are removed when the work fails", async (t) => {
    const { scratch, left } = plain(t, {});
    const work = scratch.use(async (path) => {
      writeFileSync(join(path, "x"), "x");
      throw new GatewayError("UNAVAILABLE", "broken");
    });
    await assert.rejects(work, /broken/);
    assert.deepEqual(left(), []);
  });
});
