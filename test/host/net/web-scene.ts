/** A plugin with a route of each kind, in a real gateway, called over real HTTP. */
import type { TestContext } from "node:test";
import { definePlugin, type Plugin, type RouteReply, type RouteRequest, Strict, type TSchema, Type } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";

export type Asked = RouteRequest<unknown>;

export interface Probe {
  readonly plugin: Plugin;
  /** Requests that handlers received, in order. */
  readonly asked: Asked[];
}

const NOTE = Strict({ name: Type.String(), tags: Type.Optional(Type.Array(Type.String())) });
export const LIMIT = 1_024;

/** A plugin with one route of each kind. `answer` is the handler of `GET /plugins/web/answer`. */
export function webPlugin(
  answer: (request: Asked) => RouteReply | Promise<RouteReply> = () => ({ body: "hello" }),
): Probe {
  const asked: Asked[] = [];
  const plugin = definePlugin({
    id: "web",
    api: "^1.0.0",
    setup(gateway) {
      const route = (
        method: "GET" | "POST" | "PUT",
        path: string,
        more: { auth?: "gateway" | "plugin"; body?: TSchema },
        handler: (request: Asked) => RouteReply | Promise<RouteReply>,
      ) => {
        const { auth = "plugin", ...rest } = more;
        gateway.route({
          method,
          path: `/plugins/web/${path}`,
          summary: path,
          auth,
          ...(auth === "gateway" ? { scope: "operator.read" as const } : {}),
          maxBodyBytes: LIMIT,
          ...rest,
          handler(request) {
            asked.push(request);
            return handler(request);
          },
        });
      };
      route("GET", "answer", {}, answer);
      route("GET", "closed", { auth: "gateway" }, ({ principal }) => ({ body: { principal } }));
      route("POST", "closed", { auth: "gateway" }, () => ({ body: "written" }));
      route("POST", "typed", { body: NOTE }, ({ body }) => ({ body: { got: body } }));
      route("POST", "raw", {}, ({ body, rawBody }) => ({ body: { got: body ?? "none", bytes: rawBody.length } }));
      route("PUT", "raw", {}, () => ({ body: "put" }));
      route("GET", "items/:id/parts/:part", {}, ({ params, query, path, method }) => ({
        body: { params, query: [...query], path, method },
      }));
      route("GET", "open/*rest", {}, ({ params }) => ({ body: params }));
    },
  });
  return { plugin, asked };
}

export async function serve(
  t: TestContext,
  probe: Probe = webPlugin(),
  options: { config?: object; more?: Plugin[] } = {},
) {
  const { gateway } = await testGateway(t, {
    plugins: [probe.plugin, ...(options.more ?? [])],
    ...(options.config ? { config: { ...options.config } } : {}),
  });
  const base = gateway.url.replace(/^ws/, "http");
  return {
    gateway,
    port: gateway.port,
    asked: probe.asked,
    ask: (path: string, init: RequestInit = {}) => fetch(`${base}${path}`, init),
    post: (path: string, body: RequestInit["body"], init: RequestInit = {}) =>
      fetch(`${base}${path}`, { method: "POST", body: body ?? null, ...init }),
    /** Errors attributed to the plugin. */
    charged: () => gateway.plugins().find(({ id }) => id === "web")?.errors,
  };
}

/** The `error` of a refusal. */
export const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; type: string } }).error;
