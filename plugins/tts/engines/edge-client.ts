/**
 * Client of the service behind the engine `edge`: one WebSocket per part of a text. The client sends the format and the
 * text as SSML; the service sends audio in binary frames, times of words in text frames, and `turn.end`.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, matches, Type, unavailable } from "@svc/sdk";
import type { SpokenAudio, SpokenWord } from "@svc/sdk/speech";
import { WebSocket } from "ws";
import { MAX_AUDIO_BYTES, spoken } from "../audio.ts";
import { throughProxy } from "./proxy.ts";

export interface EdgeText {
  readonly text: string;
  readonly voice: string;
  readonly lang: string;
  readonly outputFormat: string;
  readonly pitch?: string;
  readonly rate?: string;
  readonly volume?: string;
  readonly proxy?: string;
  readonly withWords: boolean;
}

export interface EdgeContext {
  readonly address: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Public, the same in every browser. */
const TOKEN = "6A5AA1D4EAFF4E9FB37E23D68491D6F4";
const BROWSER = "130.0.2849.68";
const ORIGIN = "chrome-extension://jdiccldimpdaibmpdkjnbmckianbfold";
const USER_AGENT =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0";
/** Seconds between the epochs of Windows and Unix. */
const WINDOWS_EPOCH = 11_644_473_600;
/** The service accepts 64 KiB; characters of one part, each up to 6 bytes as an entity. */
const PART_CHARS = 4_000;
/** Choice: frames of one part, and words of one text. */
const MAX_FRAMES = 100_000;
const MAX_FRAME_BYTES = 1_000_000;
/** Ticks of 100 ns. */
const TICKS_PER_MS = 10_000;

class ClockOff extends Error {
  readonly offMs: number;
  constructor(offMs: number) {
    super("the service refused the time of this machine");
    this.offMs = offMs;
  }
}

interface Part {
  readonly audio: readonly Buffer[];
  readonly words: readonly SpokenWord[];
}

/** @throws GatewayError `UNAVAILABLE` with a message for people; the signal's reason */
export async function speakWithEdge(asked: EdgeText, context: EdgeContext): Promise<SpokenAudio> {
  const { clock, signal, timeoutMs: ms } = context;
  const late = () => `Edge did not respond within ${ms / 1_000} s`;
  return withDeadline({ ms, clock, signals: [signal], late }, async (stop) => {
    const audio: Buffer[] = [];
    const words: SpokenWord[] = [];
    let size = 0;
    for (const text of partsOf(asked.text)) {
      const before = words.at(-1)?.endMs ?? 0;
      const part = await askedTwice({ ...asked, text }, { ...context, signal: stop }, MAX_AUDIO_BYTES - size);
      audio.push(...part.audio);
      size += part.audio.reduce((sum, { length }) => sum + length, 0);
      words.push(...part.words.map((word) => shifted(word, before)));
    }
    return { ...spoken(Buffer.concat(audio), "Edge"), ...(asked.withWords ? { words } : {}) };
  });
}

/** The credential contains the time. A response that refuses it has the time of the service, for a second attempt. */
async function askedTwice(asked: EdgeText, context: EdgeContext, maxBytes: number): Promise<Part> {
  const now = context.clock.now();
  try {
    return await askOnce(asked, context, { now, maxBytes });
  } catch (error) {
    if (!(error instanceof ClockOff)) throw error;
    return askOnce(asked, context, { now: now + error.offMs, maxBytes, isLast: true });
  }
}

interface Attempt {
  /** epoch ms */
  readonly now: number;
  readonly maxBytes: number;
  readonly isLast?: boolean;
}

async function askOnce(
  asked: EdgeText,
  { address, signal }: EdgeContext,
  { now, maxBytes, isLast = false }: Attempt,
): Promise<Part> {
  const url = addressOf(address, now);
  const proxied = asked.proxy === undefined ? undefined : await throughProxy(asked.proxy, url, signal);
  return new Promise<Part>((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: {
        origin: ORIGIN,
        "user-agent": USER_AGENT,
        pragma: "no-cache",
        "cache-control": "no-cache",
        cookie: `muid=${randomBytes(16).toString("hex").toUpperCase()};`,
      },
      maxPayload: MAX_FRAME_BYTES,
      followRedirects: false,
      ...(proxied === undefined ? {} : { createConnection: () => proxied as Socket }),
    });
    const audio: Buffer[] = [];
    const words: SpokenWord[] = [];
    let [size, frames] = [0, 0];
    const end = (outcome: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.terminate();
      outcome();
    };
    const fail = (reason: string) => end(() => reject(new GatewayError("UNAVAILABLE", `Edge cannot speak: ${reason}`)));
    const onAbort = () => end(() => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted")));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", (error) => fail(codeOf(error)));
    socket.on("close", () => fail("the connection was closed before the end of the text"));
    socket.on("unexpected-response", (_request, answer: IncomingMessage) => {
      const date = Date.parse(answer.headers.date ?? "");
      answer.destroy();
      if (answer.statusCode === 403 && !isLast && Number.isFinite(date)) end(() => reject(new ClockOff(date - now)));
      else fail(`the service returned status ${answer.statusCode ?? 0}`);
    });
    socket.on("open", () => {
      socket.send(configFrame(asked, now));
      socket.send(ssmlFrame(asked, now));
    });
    socket.on("message", (data: Buffer, isBinary: boolean) => {
      if ((frames += 1) > MAX_FRAMES) return fail("the service sends too many frames");
      const { path, body } = isBinary ? binaryFrame(data) : textFrame(data);
      if (path === "audio") {
        size += body.length;
        if (size > maxBytes) return fail(`it returned more than ${MAX_AUDIO_BYTES} bytes`);
        audio.push(body);
      }
      if (path === "audio.metadata" && asked.withWords) words.push(...wordsOf(body));
      if (path === "turn.end") end(() => resolve({ audio, words }));
      return undefined;
    });
    if (signal.aborted) onAbort();
  });
}

function addressOf(address: string, now: number): URL {
  const seconds = Math.floor(now / 1_000) + WINDOWS_EPOCH;
  const ticks = BigInt(seconds - (seconds % 300)) * 10_000_000n;
  const proof = createHash("sha256").update(`${ticks}${TOKEN}`).digest("hex").toUpperCase();
  const url = new URL(address);
  url.searchParams.set("TrustedClientToken", TOKEN);
  url.searchParams.set("Sec-MS-GEC", proof);
  url.searchParams.set("Sec-MS-GEC-Version", `1-${BROWSER}`);
  url.searchParams.set("ConnectionId", randomBytes(16).toString("hex"));
  return url;
}

function configFrame({ outputFormat, withWords }: EdgeText, now: number): string {
  const metadataoptions = { sentenceBoundaryEnabled: "false", wordBoundaryEnabled: String(withWords) };
  const config = { context: { synthesis: { audio: { metadataoptions, outputFormat } } } };
  const head = ["X-Timestamp:" + new Date(now).toUTCString(), "Content-Type:application/json; charset=utf-8"];
  return [...head, "Path:speech.config", "", JSON.stringify(config)].join("\r\n");
}

function ssmlFrame({ text, voice, lang, pitch = "+0Hz", rate = "+0%", volume = "+0%" }: EdgeText, now: number): string {
  const prosody = `<prosody pitch="${xml(pitch)}" rate="${xml(rate)}" volume="${xml(volume)}">${xml(text)}</prosody>`;
  const ssml =
    `<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="${xml(lang)}">` +
    `<voice name="${xml(voice)}">${prosody}</voice></speak>`;
  return [
    `X-RequestId:${randomBytes(16).toString("hex")}`,
    "Content-Type:application/ssml+xml",
    `X-Timestamp:${new Date(now).toUTCString()}Z`, // as the browser writes it
    "Path:ssml",
    "",
    ssml,
  ].join("\r\n");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function xml(text: string): string {
  // oxlint-disable-next-line no-control-regex -- XML has no control characters
  const clean = text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, " ");
  return clean.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? "");
}

interface Frame {
  readonly path: string;
  readonly body: Buffer;
}

function binaryFrame(data: Buffer): Frame {
  const length = data.length < 2 ? 0 : data.readUInt16BE(0);
  return { path: pathIn(data.subarray(2, 2 + length).toString("latin1")), body: data.subarray(2 + length) };
}

function textFrame(data: Buffer): Frame {
  const at = data.indexOf("\r\n\r\n");
  return at < 0
    ? { path: "", body: data }
    : { path: pathIn(data.toString("latin1", 0, at)), body: data.subarray(at + 4) };
}

function pathIn(head: string): string {
  const line = head.split("\r\n").find((text) => text.toLowerCase().startsWith("path:")) ?? "";
  return line.slice("path:".length).trim().toLowerCase();
}

const WordFrame = Type.Object({ Metadata: Type.Array(Type.Unknown()) });
const Word = Type.Object({
  Type: Type.Literal("WordBoundary"),
  Data: Type.Object({
    Offset: Type.Number(),
    Duration: Type.Number(),
    text: Type.Object({ Text: Type.String() }),
  }),
});

/** Ignores what is not the time of a word. */
function wordsOf(body: Buffer): SpokenWord[] {
  try {
    const frame: unknown = JSON.parse(body.toString());
    if (!matches(WordFrame, frame)) return [];
    return frame.Metadata.flatMap((item) => {
      if (!matches(Word, item)) return [];
      const { Offset, Duration, text } = item.Data;
      return [{ text: text.Text, startMs: Offset / TICKS_PER_MS, endMs: (Offset + Duration) / TICKS_PER_MS }];
    });
  } catch {
    return [];
  }
}

function shifted({ text, startMs, endMs }: SpokenWord, byMs: number): SpokenWord {
  return { text, startMs: startMs + byMs, endMs: endMs + byMs };
}

/** Parts of a text, divided between words where possible. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let rest = text; rest !== "";) {
    const space = rest.length > PART_CHARS ? rest.lastIndexOf(" ", PART_CHARS) : -1;
    const end = rest.length <= PART_CHARS ? rest.length : space > 0 ? space : PART_CHARS;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return parts.length === 0 ? unavailable("the text is empty") : parts;
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : "it cannot be reached";
}
