/** The programs espeak-ng and ffmpeg: real speech, its duration, and that it is no silence. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { withDefaults } from "@svc/sdk";
import { TtsConfig } from "../../../plugins/tts/config.ts";
import { formatOf } from "../../../plugins/tts/audio.ts";
import { converted } from "../../../plugins/tts/conversion.ts";
import { createEspeak } from "../../../plugins/tts/engines/espeak.ts";
import { findProgram, runBytes } from "../../../plugins/tts/programs.ts";
import { without } from "../../programs.ts";
import { heard, tone } from "./scene.ts";

const never = new AbortController().signal;
const espeak = (own: object = {}) => createEspeak({ settings: () => withDefaults(TtsConfig, { espeak: own }).espeak });
const says = (text: string) => ({ text, format: "wav" as const });
const SENTENCE = "The quick brown fox jumps over the lazy dog.";

describe("the engine espeak", { skip: without("espeak-ng") }, () => {
  it("speaks a sentence", { skip: without("ffmpeg") }, async () => {
    const { bytes, format } = await espeak().speak(says(SENTENCE), never);
    assert.equal(format, "wav");
    assert.equal(Buffer.from(bytes).readUInt32LE(4), bytes.byteLength - 8, "its header has the size");
    const { seconds, rms } = heard(bytes);
    assert.ok(seconds > 1.5 && seconds < 6, `${seconds} s`);
    assert.ok(rms > 0.02, `${rms}`);
  });

  it("speaks faster and in another voice", { skip: without("ffmpeg") }, async () => {
    const normal = heard((await espeak().speak(says(SENTENCE), never)).bytes).seconds;
    const fast = await espeak({ voice: "de" }).speak({ ...says(SENTENCE), settings: { speed: 2 } }, never);
    assert.ok(heard(fast.bytes).seconds < normal * 0.8);
  });

  it("speaks words that look like options or markup, and refuses such names of voices", async () => {
    for (const text of ["--help", "-f /etc/passwd", "<speak><audio src='/etc/passwd'/>x</speak>", "\0\ud800 x"])
      assert.equal((await espeak().speak(says(text), never)).format, "wav");
    for (const voice of ["--path=/x", "a/../b", ""])
      await assert.rejects(espeak().speak({ ...says("x"), voice }, never), /is not a voice of espeak-ng/);
    await assert.rejects(espeak().speak({ ...says("x"), voice: "nosuchvoice" }, never), /espeak-ng failed/);
  });

  it("is ready", async () => assert.equal(await espeak().missing(), undefined));
});

describe("a program", { skip: process.platform !== "linux" && "reads /proc" }, () => {
  const commandLines = () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          return [readFileSync(`/proc/${pid}/cmdline`, "utf8")];
        } catch {
          return []; // it has ended
        }
      });

  it("gets its input by a pipe and nothing of the gateway's environment, and ends with the signal", async () => {
    process.env["SVC_CANARY"] = "canary-3417";
    const file = (await findProgram("sh")) ?? assert.fail("no sh");
    const script = 'echo "$SVC_CANARY" | wc -c; cat';
    const args = ["-c", script];
    const output = await runBytes({ file, name: "sh", args, input: Buffer.from("words"), signal: never });
    delete process.env["SVC_CANARY"];
    assert.match(output.toString(), /^\s*1\nwords$/);

    const ending = new AbortController();
    const marker = "77777.4";
    const sleeping = runBytes({
      file,
      name: "sh",
      args: ["-c", `sleep ${marker}; :`],
      input: Buffer.alloc(0),
      signal: ending.signal,
    });
    ending.abort(new Error("enough"));
    await assert.rejects(sleeping, /enough/);
    assert.deepEqual(
      commandLines().filter((line) => line.includes(marker)),
      [],
    );
  });

  it("that fails tells why", async () => {
    const file = (await findProgram("sh")) ?? assert.fail("no sh");
    const args = ["-c", "echo broken pipe organ >&2; exit 3"];
    await assert.rejects(
      runBytes({ file, name: "sh", args, input: Buffer.alloc(0), signal: never }),
      /sh failed: broken pipe organ$/,
    );
  });
});

describe("the conversion of audio", { skip: without("ffmpeg") }, () => {
  for (const format of ["opus", "mp3"] as const) {
    it(`to ${format} keeps duration and sound`, async () => {
      const audio = await converted({ bytes: tone(2), format: "wav" }, format, never);
      assert.deepEqual([audio.format, formatOf(audio.bytes)], [format, format]);
      const { seconds, rms } = heard(audio.bytes);
      assert.ok(Math.abs(seconds - 2) < 0.2, `${seconds} s`);
      assert.ok(rms > 0.1 && rms < 0.5, `${rms}`);
    });
  }

  it("leaves audio in the right format unchanged", async () => {
    const bytes = tone(0.1);
    assert.equal((await converted({ bytes, format: "wav" }, "wav", never)).bytes, bytes);
  });

  it("reads no list of other files, and fails with a reason", async () => {
    const list = Buffer.from("RIFF0000WAVE\n#EXTM3U\nfile:///etc/passwd\n");
    await assert.rejects(converted({ bytes: list, format: "wav" }, "mp3", never), /ffmpeg failed/);
  });
});
