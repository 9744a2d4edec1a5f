/** Audio, servers and engines for tests of speech. */
import { spawnSync } from "node:child_process";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { TestContext } from "node:test";
import { definePlugin, type Plugin } from "@svc/sdk";
import { SpeechEngine } from "@svc/sdk/speech";
import { listen } from "../outbound/scene.ts";

const RATE = 16_000;

/** A tone as WAV: 440 Hz, mono, 16 bit. */
export function tone(seconds: number): Buffer {
  const samples = Math.round(seconds * RATE);
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write("RIFF", 0, "latin1");
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write("WAVEfmt ", 8, "latin1");
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(RATE * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index++)
    wav.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * 440 * index) / RATE)), 44 + index * 2);
  return wav;
}

/** The first bytes of an MP3 file: enough for code that looks at the format only. */
export const MP3 = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x64]), Buffer.alloc(400)]);

/** Seconds, and the root of the mean square (0 to 1), of audio in any format. Needs ffmpeg. */
export function heard(audio: Uint8Array | string): { readonly seconds: number; readonly rms: number } {
  const [source, input] = typeof audio === "string" ? [audio, undefined] : ["pipe:0", audio];
  const args = ["-loglevel", "error", "-i", source, "-f", "s16le", "-ac", "1", "-ar", String(RATE), "pipe:1"];
  const { stdout, status, stderr } = spawnSync("ffmpeg", args, { input, maxBuffer: 100_000_000 });
  if (status !== 0) throw new Error(stderr.toString());
  const samples = new Int16Array(stdout.buffer, stdout.byteOffset, Math.floor(stdout.length / 2));
  const square = samples.reduce((sum, sample) => sum + (sample / 32_768) ** 2, 0);
  return { seconds: samples.length / RATE, rms: Math.sqrt(square / Math.max(1, samples.length)) };
}

/** A request that a speech server got. */
export interface Asked {
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Record<string, unknown>;
}

/** A local server; `asked` has its requests. Default answer: a short MP3. */
export async function speechServer(t: TestContext, answer: RequestListener = (_, response) => response.end(MP3)) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const { url = "", headers } = request;
    asked.push({ url, headers, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) });
    answer(request, response);
  });
  const port = await listen(t, server);
  return { asked, url: `http://127.0.0.1:${port}` };
}

/** An engine of another plugin. */
export function enginePlugin(engine: Partial<SpeechEngine> = {}, id = "voice-box"): Plugin {
  return definePlugin({
    id: `plugin-${id}`,
    api: "^1.0.0",
    setup: (gateway) =>
      gateway.extend(SpeechEngine, id, {
        label: "Voice box",
        missing: async () => undefined,
        speak: async () => ({ bytes: tone(1), format: "wav" }),
        ...engine,
      }),
  });
}

/** Settings under which no text leaves this machine, and no other engine speaks if the one of a test fails. */
export const QUIET = { edge: { enabled: false }, espeak: { voice: "qqq" } };
