/** A gateway for node programs: the test decides whom it admits and what it invokes; all answers and reports are recorded. */
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import { until } from "../../webhook-scene.ts";

export interface FakeRequest {
  readonly id: string;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** Params of a `node.invoke.result`. */
export interface FakeAnswer {
  readonly id: string;
  readonly nodeId: string;
  readonly ok: boolean;
  readonly payloadJSON?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The response to `connect`: `hello-ok` with these keys, or a refusal. */
export type Welcome =
  | { readonly auth?: object }
  | { readonly error: { readonly code: string; readonly message: string; readonly details?: object } };

export type FakeGateway = Awaited<ReturnType<typeof fakeGateway>>;

/** @param welcome by the number of the attempt, 1 is the first @param greeting sent in one piece with `hello-ok` */
export async function fakeGateway(
  t: TestContext,
  welcome: (nth: number, connect: Record<string, unknown>) => Welcome = () => ({}),
  greeting: (nth: number, connect: Record<string, unknown>) => readonly object[] = () => [],
) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const connects: Record<string, unknown>[] = [];
  const events: { readonly event: string; readonly payload: Record<string, unknown> }[] = [];
  const answers: FakeAnswer[] = [];
  const accepted: WebSocket[] = [];
  server.on("connection", (socket) => {
    send(socket, { type: "event", event: "connect.challenge", payload: { nonce: "n", ts: 1 } });
    socket.on("message", (data: Buffer) => {
      const { id, method, params } = JSON.parse(data.toString()) as FakeRequest;
      if (method === "connect") {
        const nth = connects.push(params);
        const said = welcome(nth, params);
        if ("error" in said) {
          send(socket, { type: "res", id, ok: false, error: said.error });
          return socket.close(1008, said.error.message);
        }
        const payload = { type: "hello-ok", protocol: 3, policy: { tickIntervalMs: 15_000 }, ...said };
        accepted.push(socket);
        const frames = [{ type: "res", id, ok: true, payload }, ...greeting(nth, params)];
        for (const frame of frames) send(socket, frame);
      } else {
        send(socket, { type: "res", id, ok: true, payload: { ok: true } });
        if (method === "node.invoke.result") answers.push(params as unknown as FakeAnswer);
        if (method === "node.event") {
          const payload = JSON.parse(String(params["payloadJSON"])) as Record<string, unknown>;
          events.push({ event: String(params["event"]), payload });
        }
      }
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });

  let asked = 0;
  const newest = () => accepted.at(-1) ?? fail();
  const newestNode = () => {
    const { device } = (connects.at(-1) ?? fail()) as { device: { id: string } };
    return device.id;
  };
  const ask = (command: string, params?: unknown) => {
    const id = `ask-${++asked}`;
    const nodeId = newestNode();
    const paramsJSON = params === undefined ? null : JSON.stringify(params);
    send(newest(), { type: "event", event: "node.invoke.request", payload: { id, nodeId, command, paramsJSON } });
    return id;
  };
  const answer = async (id: string) => {
    await until(() => answers.some((one) => one.id === id), `the answer to ${id}`);
    return answers.find((one) => one.id === id) ?? fail();
  };
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Every `connect`, in order. */
    connects,
    events,
    /** Every `node.invoke.result`. */
    answers,
    /** Id of the node that connected last. */
    nodeId: newestNode,
    /** Resolves when a node has reported this. */
    reported: (event: string) => until(() => events.some((one) => one.event === event), event),
    /** Resolves when that many connections were accepted. */
    connected: (count = 1) => until(() => accepted.length >= count, `${count} connections`),
    /** Resolves when there is an answer with this id. */
    answer,
    /** Sends `node.invoke.request` to the newest connection. @returns its id */
    ask,
    /** Invokes a command, and parses the answer. */
    async invoke(command: string, params?: unknown) {
      const said = await answer(ask(command, params));
      return { ...said, payload: JSON.parse(said.payloadJSON ?? "{}") as Record<string, unknown> };
    },
    send: (frame: object) => send(newest(), frame),
    /** Ends the newest connection. */
    drop: (code = 1012, reason = "service restart") => newest().close(code, reason),
  };
}

function send(socket: WebSocket, frame: object): void {
  socket.send(JSON.stringify(frame));
}

function fail(): never {
  throw new Error("no node is connected");
}
