/** Serves the chat-completions API for the agents to any client of that API. Spec: §4.3, http/chat-completions.md. */
import { randomUUID } from "node:crypto";
import { createAskedRuns } from "@svc/kit/runs";
import { definePlugin, isGatewayError, live, type RouteReply, type RouteRequest } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Documents } from "@svc/sdk/media";
import { Models } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { OutboundFetch } from "@svc/sdk/web";
import { complete } from "./completions.ts";
import { ChatCompletionsConfig } from "./config.ts";
import { findModel, listModels } from "./models.ts";
import { failureOf, failureReply } from "./refusals.ts";

const SECTION = "gateway.http.endpoints.chatCompletions";

export default definePlugin({
  id: "http-chat",
  api: "^1.0.0",
  section: SECTION,
  config: ChatCompletionsConfig,
  requires: {
    runs: AgentRuns,
    agents: AgentDirectory,
    sessions: Sessions,
    models: Models,
    info: GatewayInfo,
    outbound: live(OutboundFetch),
    documents: live(Documents),
  },

  setup(gateway) {
    const { clock, services } = gateway;
    const { runs, agents, sessions, models, info } = services;
    let { config } = gateway;
    gateway.configChanged((changed) => {
      config = changed;
    });
    const asked = createAskedRuns({ runs, sessions });
    gateway.hooks.runEvent.tap(asked.take, { onlyAwake: true });
    gateway.onStop(asked.stop);

    /** Choice: a disabled endpoint names its key to authorized clients; the spec has a bare 404. */
    const served =
      (answer: (request: RouteRequest<unknown>) => RouteReply | Promise<RouteReply>) =>
      async (request: RouteRequest<unknown>): Promise<RouteReply> => {
        if (!config.enabled) return DISABLED;
        try {
          return await answer(request);
        } catch (error) {
          if (isGatewayError(error)) return failureReply(failureOf(error));
          if (request.signal.aborted) return GONE;
          throw error;
        }
      };
    const listed = () => listModels(agents, Math.floor(info.startedAt / 1_000));

    gateway.route({
      method: "POST",
      path: "/v1/chat/completions",
      auth: "gateway",
      scope: "operator.write",
      summary: "Runs an agent, in the format of the public chat-completions API",
      maxBodyBytes: config.maxBodyBytes,
      handler: served((request) =>
        complete(request, {
          config: () => config,
          asked,
          agents,
          sessions,
          models,
          info,
          outbound: () => services.outbound.get(),
          documents: () => services.documents.get(),
          clock,
          newId: randomUUID,
        }),
      ),
    });
    gateway.route({
      method: "GET",
      path: "/v1/models",
      auth: "gateway",
      scope: "operator.read",
      summary: "The agents, as models of the public API",
      handler: served(() => ({ body: { object: "list", data: listed() } })),
    });
    gateway.route({
      method: "GET",
      path: "/v1/models/*id",
      auth: "gateway",
      scope: "operator.read",
      summary: "One agent, as a model of the public API",
      handler: served(({ params }) => ({ body: findModel(params["id"] ?? "", listed(), info.aliases) })),
    });
  },
});

const DISABLED: RouteReply = {
  status: 404,
  body: { error: { message: `this endpoint is off; set ${SECTION}.enabled to true`, type: "not_found" } },
};

/** The reply if the client has disconnected; nobody reads it. */
const GONE: RouteReply = { status: 499, body: "" };
