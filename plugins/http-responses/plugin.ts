/** Serves the responses API for the agents: creates, returns and deletes responses. Spec: §4.3, http/responses.md. */
import { randomUUID } from "node:crypto";
import { createAskedRuns } from "@svc/kit/runs";
import { definePlugin, live, notFound, type Principal, type RouteReply, type RouteRequest } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Documents } from "@svc/sdk/media";
import { Models } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { Retention, Storage } from "@svc/sdk/storage";
import { OutboundFetch } from "@svc/sdk/web";
import { createAnswering } from "./answering.ts";
import { refuse } from "./check.ts";
import { bodyLimit, ResponsesConfig } from "./config.ts";
import { refusalReply } from "./refusals.ts";
import { createResponseStore, RETENTION, STEPS } from "./store.ts";

const SECTION = "gateway.http.endpoints.responses";
const PATH = "/v1/responses";

export default definePlugin({
  id: "http-responses",
  api: "^1.0.0",
  config: ResponsesConfig,
  section: SECTION,
  requires: {
    agents: AgentDirectory,
    runs: AgentRuns,
    sessions: Sessions,
    storage: Storage,
    info: GatewayInfo,
    models: live(Models),
    documents: live(Documents),
    outbound: live(OutboundFetch),
  },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const { runs, sessions, storage } = services;
    const now = () => clock.now();
    let config = gateway.config;
    gateway.configChanged((changed) => void (config = changed));

    const store = createResponseStore(storage, now);
    const asked = createAskedRuns({ runs, sessions });
    const sources = {
      config: () => config,
      services,
      asked,
      stopping: gateway.signal,
      store,
      clock,
      log,
      newId: randomUUID,
    };
    const answer = createAnswering(sources);
    gateway.hooks.runEvent.tap((event) => asked.take(event), { onlyAwake: true });
    gateway.onStop(asked.stop);

    let opened: Promise<void> | undefined;
    /** Creates the table on first use. */
    const open = () =>
      (opened ??= storage.migrate("http-responses", STEPS).catch((error: unknown) => {
        opened = undefined;
        throw error;
      }));

    gateway.extend(Retention, "responses", RETENTION);

    type Handle = (request: RouteRequest<unknown>, principal: Principal) => Promise<RouteReply>;
    const whenEnabled = (handle: Handle) => async (request: RouteRequest<unknown>) => {
      try {
        if (!config.enabled) notFound(`the responses API is off; set ${SECTION}.enabled to true`);
        if (!request.principal) throw new Error("a route with the gateway's auth has a principal");
        await open();
        return await handle(request, request.principal);
      } catch (error) {
        return refusalReply(error);
      }
    };
    const noResponse = (id: string | undefined) => notFound(`no response ${id?.slice(0, 64)}`);

    gateway.route({
      method: "POST",
      path: PATH,
      auth: "gateway",
      scope: "operator.write",
      summary: "Runs an agent, in the format of the responses API",
      maxBodyBytes: bodyLimit(gateway.config),
      handler: whenEnabled((request, principal) => {
        const { headers, rawBody, signal } = request;
        return answer({ headers, rawBody, signal, principal });
      }),
    });
    gateway.route({
      method: "GET",
      path: `${PATH}/:id`,
      auth: "gateway",
      scope: "operator.read",
      summary: "A stored response",
      handler: whenEnabled(async ({ params, query }, principal) => {
        if (query.get("stream") === "true") refuse(["stream"], "a stored response cannot be streamed");
        const kept = await store.find(params["id"] ?? "", principal.id);
        return { body: (kept ?? noResponse(params["id"])).body };
      }),
    });
    gateway.route({
      method: "DELETE",
      path: `${PATH}/:id`,
      auth: "gateway",
      scope: "operator.write",
      summary: "Deletes a response; the messages of its session are kept",
      handler: whenEnabled(async ({ params }, principal) => {
        const { id = "" } = params;
        if (!(await store.remove(id, principal.id))) noResponse(id);
        return { body: { id, object: "response", deleted: true } };
      }),
    });
  },
});
