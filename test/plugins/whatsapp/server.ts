/** A small Cloud API: the Graph endpoints that the plugin uses, and a sender of signed webhooks. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { bodyOf } from "../channels/request-body.ts";

interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

export const TOKEN = "EAAB-the-token-of-the-system-user";
export const SECRET = "the-secret-of-the-app";
export const VERIFY = "the-verify-token";
export const NUMBER_ID = "106540352242922";
export const NUMBER = "15550783881";
export const ADA = "491512345678";

/** Changes the answer to requests whose `<METHOD> <path>` matches. */
export interface Fault {
  readonly matches: RegExp;
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Number of requests; default 1. */
  readonly times?: number;
  readonly isSilent?: boolean;
}

/** An error as the API answers it. */
export const graphError = (code: number, message = `error ${code}`, more: object = {}) => ({
  error: { code, message, type: "OAuthException", fbtrace_id: "A1", ...more },
});

export interface Request {
  readonly line: string;
  readonly body: Record<string, unknown>;
  readonly query: URLSearchParams;
}

export const sign = (body: string | Buffer, secret = SECRET) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

export async function startServer(t: TestContext) {
  const requests: Request[] = [];
  const faults: (Fault & { left: number })[] = [];
  const state = { token: TOKEN, isSilent: false, gateway: "", account: "default", isOver: false };
  const files = new Map<string, { readonly size: number; readonly bytes: Buffer }>();
  let count = 0;
  let sending = Promise.resolve();

  function answer(method: string, path: string, { body, query }: Omit<Request, "line">): readonly [number, unknown] {
    const proof = createHmac("sha256", SECRET).update(TOKEN).digest("hex");
    if ((query.get("appsecret_proof") ?? proof) !== proof)
      return [400, graphError(100, "Invalid appsecret_proof provided in the API argument")];
    const number = { display_phone_number: "+1 555-078-3881", verified_name: "Helper Inc", quality_rating: "GREEN" };
    if (path === NUMBER_ID) return [200, { ...number, id: NUMBER_ID }];
    const file = files.get(path);
    if (file) return [200, { id: path, url: `${url()}/files/${path}`, file_size: String(file.size) }];
    if (path === `${NUMBER_ID}/media`) return [200, { id: `upload${++count}` }];
    if (path !== `${NUMBER_ID}/messages` || method !== "POST")
      return [400, graphError(100, "Unsupported get request.", { error_subcode: 33 })];
    if (body["status"] === "read") return [200, { success: true }];
    return [200, { messaging_product: "whatsapp", contacts: [], messages: [{ id: `wamid.sent${++count}` }] }];
  }

  const http = createServer(async (request, response) => {
    const { method = "", headers } = request;
    const { pathname, searchParams: query } = new URL(request.url ?? "", "http://localhost");
    const body = await bodyOf(request);
    if (state.isSilent) return;
    const isKnown = headers.authorization === `Bearer ${state.token}`;
    const reply = (status: number, given: unknown, more: Record<string, string> = {}) =>
      response
        .writeHead(status, { "content-type": "application/json", ...more })
        .end(typeof given === "string" || Buffer.isBuffer(given) ? given : JSON.stringify(given));
    if (pathname.startsWith("/files/")) {
      const file = files.get(pathname.slice("/files/".length));
      return void (isKnown && file ? reply(200, file.bytes) : reply(401, "no"));
    }
    const path = pathname.replace("/v23.0/", "");
    const line = `${method} ${path}`;
    requests.push({ line, body, query });
    const fault = faults.find(({ matches, left }) => left > 0 && matches.test(line));
    if (fault) {
      fault.left -= 1;
      if (!fault.isSilent) reply(fault.status ?? 400, fault.body ?? "", fault.headers);
      return;
    }
    if (!isKnown) return void reply(401, graphError(190, `Malformed access token ${headers.authorization}`));
    reply(...answer(method, path, { body, query }));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = () => `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  t.after(async () => {
    state.isOver = true;
    await sending;
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });

  /** Posts once. @returns status; 0: no answer */
  const post = (body: string | Buffer, headers: Record<string, string> = { "x-hub-signature-256": sign(body) }) =>
    new Promise<number>((resolve) => {
      const target = `${state.gateway}/plugins/whatsapp/${state.account}/webhook`;
      const type = { "content-type": "application/json" };
      const request = httpRequest(target, { method: "POST", agent: false, headers: { ...type, ...headers } });
      request.on("response", (response) => {
        response.resume();
        response.on("close", () => resolve(response.statusCode ?? 0));
      });
      request.on("error", () => resolve(0));
      request.end(body);
    });

  return {
    graphUrl: `${url()}/v23.0`,
    requests,
    files,
    state,
    post,
    fails: (fault: Fault) => void faults.push({ ...fault, left: fault.times ?? 1 }),
    /** Delivers one after the other, each again every 100 ms until it is accepted. Resolves when this one is. */
    deliver(delivery: unknown): Promise<void> {
      const body = JSON.stringify(delivery);
      sending = sending.then(async () => {
        while (!state.isOver && (state.gateway === "" || (await post(body)) !== 200))
          await new Promise((resolve) => setTimeout(resolve, 100));
      });
      return sending;
    },
    /** Bodies of the requests with this line. */
    sent: (line: RegExp) => requests.filter((request) => line.test(request.line)).map(({ body }) => body),
    /** Bodies of sent messages, without read marks and typing signals. */
    messages: () =>
      requests
        .filter(({ line, body }) => line === `POST ${NUMBER_ID}/messages` && body["status"] === undefined)
        .map(({ body }) => body),
    /** Bodies of read marks and typing signals. */
    marks: () => requests.filter(({ body }) => body["status"] === "read").map(({ body }) => body),
  };
}

export type Server = Awaited<ReturnType<typeof startServer>>;

let messageIds = 0;

/** A message of Ada. */
export const message = (fields: object) => ({
  from: ADA,
  id: `wamid.${process.pid}.${++messageIds}`,
  timestamp: "1739321024",
  ...fields,
});

export const text = (body: string, more: object = {}) => message({ type: "text", text: { body }, ...more });

/** A delivery with these parts, for the number. */
export const delivery = (value: object, numberId = NUMBER_ID) => ({
  object: "whatsapp_business_account",
  entry: [
    {
      id: "102290129340398",
      changes: [
        {
          field: "messages",
          value: {
            messaging_product: "whatsapp",
            metadata: { display_phone_number: NUMBER, phone_number_id: numberId },
            contacts: [{ profile: { name: "Ada" }, wa_id: ADA }],
            ...value,
          },
        },
      ],
    },
  ],
});
