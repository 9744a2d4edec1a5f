/** A gateway that serves a control panel from a directory of the test. */
import { request as send, type IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { brotliCompressSync } from "node:zlib";
import type { Plugin } from "@svc/sdk";
import { testGateway, type TestGatewayOptions } from "@svc/sdk/testing";
import { directory, put } from "../../directory.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** Sends exactly this path and these headers; `fetch` would change both. */
export function get(base: string, path: string, { method = "GET", headers = {} }: Asked = {}): Promise<Answer> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const asked = send({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() });
      });
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

export const INDEX = `<!doctype html>
<link rel="manifest" href="./manifest.webmanifest">
<link rel=icon href='./icon.svg'>
<script type="module" src="./assets/main.js"></script>
<a href="https://example.com/./x">./not an address</a>
`;

/** The page as it is served below a base path. */
export const indexAt = (base: string) =>
  INDEX.replace('"./manifest', `"${base}/manifest`)
    .replace("'./icon", `'${base}/icon`)
    .replace('"./assets', `"${base}/assets`);

export const SCRIPT = "console.log('the page');\n".repeat(50);

/** A directory as the build leaves it. */
export function pageDirectory(t: TestContext): string {
  const root = directory(t, "svc-panel-");
  put(`${root}/index.html`, INDEX);
  put(`${root}/assets/main.js`, SCRIPT);
  put(`${root}/assets/plain.css`, "body{}");
  put(`${root}/icon.svg`, "<svg/>");
  put(`${root}/manifest.webmanifest`, "{}");
  put(`${root}/sub/page.html`, "<p>sub");
  put(`${root}/__svc/bridge.js`, "globalThis.svcPanel = {};");
  return root;
}

/** Puts the compressed file beside a file. */
export function compress(path: string, text: string): Buffer {
  const bytes = brotliCompressSync(text);
  put(`${path}.br`, bytes as never); // `writeFileSync` takes bytes
  return bytes;
}

export interface PanelOptions {
  /** `gateway.controlUi`, besides `root`. */
  readonly controlUi?: object;
  readonly root?: string;
  readonly plugins?: readonly (Plugin | string)[];
  readonly config?: Readonly<Record<string, unknown>>;
  readonly gateway?: TestGatewayOptions["gateway"];
  readonly stateDir?: string;
}

export async function panelScene(t: TestContext, options: PanelOptions = {}) {
  const root = options.root ?? pageDirectory(t);
  const { controlUi, plugins = [], config, gateway, stateDir } = options;
  const scene = await testGateway(t, {
    plugins: ["control-panel", ...plugins],
    config: {
      ...config,
      gateway: { ...(config?.["gateway"] as object | undefined), controlUi: { root, ...controlUi } },
    },
    ...(gateway ? { gateway } : {}),
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  const address = scene.gateway.url.replace(/^ws/, "http");
  return { ...scene, root, address, get: (path: string, asked?: Asked) => get(address, path, asked) };
}

export const CSP =
  "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; script-src 'self'; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; font-src 'self'; connect-src 'self' ws: wss:";
