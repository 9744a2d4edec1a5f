/** The engine `edge` against a local server that speaks the protocol of the service. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { isGatewayError, withDefaults } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { WebSocketServer, type WebSocket } from "ws";
import { TtsConfig } from "../../../plugins/tts/config.ts";
import { createEdge } from "../../../plugins/tts/engines/edge.ts";
import { listen } from "../outbound/scene.ts";
import { MP3 } from "./scene.ts";

const never = new AbortController().signal;
const text = (path: string, body: object = {}) => `X-RequestId:1\r\nPath:${path}\r\n\r\n${JSON.stringify(body)}`;

function audio(bytes: Buffer): Buffer {
  const head = Buffer.from("X-RequestId:1\r\nContent-Type:audio/mpeg\r\nPath:audio\r\n");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(head.length);
  return Buffer.concat([length, head, bytes]);
}

const word = (of: string, atMs: number) => ({
  Type: "WordBoundary",
  Data: { Offset: atMs * 10_000, Duration: 1_000_000, text: { Text: of } },
});

/** Answers an SSML frame as the service does. */
function speaks(socket: WebSocket): void {
  socket.send(text("turn.start"));
  socket.send(text("audio.metadata", { Metadata: [word("Hello", 100), { Type: "SessionEnd", Data: {} }] }));
  socket.send(audio(MP3));
  socket.send(text("turn.end"));
}

interface Scene {
  readonly settings?: object;
  readonly answer?: (socket: WebSocket) => void;
  readonly server?: Server;
  readonly timeoutMs?: number;
}

async function scene(
  t: TestContext,
  { settings = {}, answer = speaks, server = createServer(), timeoutMs }: Scene = {},
) {
  const frames: string[] = [];
  const upgrades: IncomingMessage[] = [];
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, request) => {
    upgrades.push(request);
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      frames.push(data.toString());
      if (data.includes("Path:ssml")) answer(socket);
    });
  });
  const port = await listen(t, server);
  const clock = createFakeClock();
  const { edge } = withDefaults(TtsConfig, { edge: settings });
  const address = `ws://127.0.0.1:${port}/speech`;
  const engine = createEdge({ settings: () => edge, timeoutMs: () => timeoutMs ?? 30_000, clock, address });
  return { engine, frames, upgrades, clock, port, address };
}

const says = (words: string) => ({ text: words, format: "mp3" as const });
const ssmlIn = (frames: readonly string[]) => frames.filter((frame) => frame.includes("Path:ssml"));

describe("the engine edge", { timeout: 60_000 }, () => {
  it("sends the format, then the text as SSML, and returns the audio", async (t) => {
    const settings = { lang: "de-DE", voice: "de-DE-KatjaNeural", rate: "+10%", pitch: "-5Hz", volume: "+0%" };
    const { engine, frames, upgrades } = await scene(t, { settings });
    const spoken = await engine.speak(says('Tom & "Jerry" <b>\u0007'), never);
    assert.deepEqual([spoken.format, Buffer.from(spoken.bytes), spoken.words], ["mp3", MP3, undefined]);
    const [config = "", ssml = ""] = frames;
    assert.match(config, /Path:speech\.config\r\n\r\n.*"outputFormat":"audio-24khz-48kbitrate-mono-mp3"/s);
    assert.ok(
      ssml.endsWith(
        '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="de-DE"><voice name="de-DE-KatjaNeural">' +
          '<prosody pitch="-5Hz" rate="+10%" volume="+0%">Tom &amp; &quot;Jerry&quot; &lt;b&gt; </prosody></voice></speak>',
      ),
      ssml,
    );
    const url = new URL(upgrades[0]?.url ?? "", "http://x");
    assert.match(url.searchParams.get("Sec-MS-GEC") ?? "", /^[0-9A-F]{64}$/);
    assert.equal(upgrades[0]?.headers.origin, "chrome-extension://jdiccldimpdaibmpdkjnbmckianbfold");
  });

  it("escapes the name of the voice in the SSML, and uses speed and voice of a model", async (t) => {
    const { engine, frames } = await scene(t);
    await engine.speak({ ...says("x"), voice: "a'/><evil", settings: { speed: 0.8 } }, never);
    assert.match(frames[1] ?? "", /<voice name="a&apos;\/&gt;&lt;evil">.*rate="-20%"/);
  });

  it("returns the times of words, if they are wanted, also over several parts", async (t) => {
    const { engine, frames } = await scene(t, { settings: { saveSubtitles: true } });
    const { words, bytes } = await engine.speak(says("word ".repeat(900)), never);
    assert.deepEqual(words, [
      { text: "Hello", startMs: 100, endMs: 200 },
      { text: "Hello", startMs: 300, endMs: 400 },
    ]);
    assert.equal(bytes.byteLength, 2 * MP3.length);
    assert.equal(ssmlIn(frames).length, 2);
    assert.match(frames[0] ?? "", /"wordBoundaryEnabled":"true"/);
  });

  it("repeats a refused request once, with the time of the service", async (t) => {
    const server = createServer();
    let refusals = 0;
    server.prependListener("upgrade", (_, socket) => {
      if (refusals++ > 0) return;
      socket.write("HTTP/1.1 403 Forbidden\r\nDate: Fri, 01 Jan 2027 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n");
      socket.end();
    });
    const { engine, upgrades } = await scene(t, { server });
    assert.equal((await engine.speak(says("x"), never)).format, "mp3");
    assert.equal(upgrades.at(-1)?.url?.includes("Sec-MS-GEC"), true);
    assert.equal(refusals, 2);
  });

  const bad: [what: string, answer: (socket: WebSocket) => void, told: RegExp][] = [
    ["closes early", (socket) => socket.close(), /closed before the end of the text/],
    ["sends no audio", (socket) => socket.send(text("turn.end")), /did not return audio/],
    [
      "sends a page as audio",
      (socket) => {
        socket.send(audio(Buffer.from("<html>")));
        socket.send(text("turn.end"));
      },
      /did not return audio/,
    ],
    [
      "sends a frame that is too large",
      (socket) => socket.send(Buffer.alloc(1_100_000)),
      /WS_ERR_UNSUPPORTED_MESSAGE_LENGTH/,
    ],
    [
      "sends endless audio",
      (socket) => {
        const more = (error?: Error) => {
          if (!error && socket.readyState === 1) socket.send(audio(Buffer.alloc(900_000)), more);
        };
        more();
      },
      /returned more than 25000000 bytes/,
    ],
    [
      "sends nonsense",
      (socket) => {
        for (const frame of ["", "x", "\r\n\r\n", text("audio.metadata"), Buffer.alloc(0), Buffer.from([255, 255, 1])])
          socket.send(frame);
        socket.send(text("turn.end"));
      },
      /did not return audio/,
    ],
  ];
  for (const [what, answer, told] of bad) {
    it(`fails with a reason if the service ${what}`, async (t) => {
      const { engine } = await scene(t, { answer, settings: { saveSubtitles: true } });
      await assert.rejects(
        engine.speak(says("x"), never),
        (error) => isGatewayError(error) && error.code === "UNAVAILABLE" && told.test(error.message),
      );
    });
  }

  it("ends at its deadline, and when the signal aborts", async (t) => {
    const hung = new Promise<void>((resolve) => void (begun = resolve));
    const { engine, clock } = await scene(t, { answer: () => begun(), settings: { timeoutMs: 2_000 } });
    const late = assert.rejects(engine.speak(says("x"), never), /Edge did not respond within 2 s/);
    await hung;
    await clock.advance(2_000);
    await late;
    const ending = new AbortController();
    const ended = assert.rejects(engine.speak(says("x"), ending.signal), /enough/);
    ending.abort(new Error("enough"));
    await ended;
  });
  let begun: () => void = () => undefined;

  it("connects through the proxy of the configuration, or says that it cannot", async (t) => {
    const places: string[] = [];
    const proxy = createServer();
    proxy.on("connect", (request, socket) => {
      places.push(`${request.url} ${request.headers["proxy-authorization"]}`);
      if (request.headers["proxy-authorization"] === undefined) return socket.end("HTTP/1.1 407 No\r\n\r\n");
      const [host, port] = (request.url ?? "").split(":");
      const target = connect(Number(port), host, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        target.pipe(socket).pipe(target);
      });
      socket.on("error", () => target.destroy());
      return target.on("error", () => socket.destroy());
    });
    const port = await listen(t, proxy);
    const through = await scene(t, { settings: { proxy: `http://me:secret@127.0.0.1:${port}` } });
    assert.equal((await through.engine.speak(says("x"), never)).format, "mp3");
    const login = Buffer.from("me:secret").toString("base64");
    assert.deepEqual(places, [`127.0.0.1:${through.port} Basic ${login}`]);
    const refused = await scene(t, { settings: { proxy: `http://127.0.0.1:${port}` } });
    await assert.rejects(refused.engine.speak(says("x"), never), /messages\.tts\.edge\.proxy .* \(status 407\)/);
  });

  it("is not ready if the operator disabled it", async (t) => {
    const { engine } = await scene(t, { settings: { enabled: false } });
    assert.equal(await engine.missing(), "set messages.tts.edge.enabled to true");
  });
});
