/** A gateway that serves pages, and requests as a browser, a program or a node sends them. */
import { request as send } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { put } from "../../directory.ts";
import { nodeScene, type SceneOptions } from "../nodes/scene.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Sends exactly this path and these headers; `fetch` would change both. */
export function get(base: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const asked = send({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const { statusCode = 0, headers: received } = response;
        resolve({ status: statusCode, headers: received, text: Buffer.concat(chunks).toString() });
      });
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** @param section `canvasHost` */
export async function canvasScene(t: TestContext, section: object = {}, options: SceneOptions = {}) {
  const scene = await nodeScene(t, {
    ...options,
    plugins: ["canvas", ...(options.plugins ?? [])],
    config: { canvasHost: section, ...options.config },
  });
  const base = scene.gateway.url.replace(/^ws/, "http");
  const page = (name: string, text: string) => put(`${scene.stateDir}/canvas/${name}`, text);
  return { ...scene, base, page, get: (path: string, headers?: Record<string, string>) => get(base, path, headers) };
}

/** A request that is not from this machine, as far as the gateway can tell. */
export const FAR = { "x-forwarded-for": "203.0.113.7" };

/** The path of an address of this gateway. */
export const pathOf = (url: string) => new URL(url).pathname;
