/** What views work with: calls and events of the gateway, the address, and drawing. */
import type { EventSpec, Method, ParamsOf, PayloadOf, ResultOf, Scope } from "@svc/sdk";
import type { CallOptions } from "@svc/sdk/client";
import { GatewayError } from "@svc/sdk/errors";
import type { TemplateResult } from "lit";
import { hrefOf, type Place, readPlace } from "./address.ts";
import type { Connection, EventFrame } from "./connection.ts";
import { inNextFrame } from "./frame.ts";
import { createResource, type Resource } from "./resource.ts";

/** Options of a resource. */
export interface ResourceOptions {
  /** Events after which it is loaded again, at most every 300 ms. */
  readonly events?: readonly Pick<EventSpec, "name">[];
  /** Milliseconds between two loads while the page is visible and connected. Default: only events, reconnects and gaps. */
  readonly everyMs?: number;
}

/** The panel, as shell and views see it. */
export interface App {
  readonly connection: Connection;
  /** The view and what it shows, from the address. */
  readonly place: Place;
  /** @throws GatewayError the gateway's refusal; `UNAVAILABLE` while there is no connection */
  call<M extends Method>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>;
  /** As `call`, for a method known only by name. */
  request(method: string, params?: unknown, options?: CallOptions): Promise<unknown>;
  /** Whether the gateway has this method: its plugin may be missing. */
  serves(method: string | Pick<Method, "name">): boolean;
  /** Whether this browser holds the scope. */
  may(scope: Scope): boolean;
  /** Draws soon, once for all calls in one frame. */
  redraw(): void;
  /** Shows a view. @param params absent ones leave the address. @param options.replace no new entry in the history */
  go(
    view: string,
    params?: Readonly<Record<string, string | undefined>>,
    options?: { readonly replace?: boolean },
  ): void;
}

/** The panel, as an open view sees it: everything ends when people leave the view, and `go` does nothing from then on. */
export interface ViewContext extends App {
  /** Aborts when people leave the view. */
  readonly signal: AbortSignal;
  on<E extends EventSpec>(event: E, listener: (payload: PayloadOf<E>, frame: EventFrame) => void): void;
  /** Called when events may have been missed. */
  onFresh(listener: () => void): void;
  /** Loads data at once and whenever it may have changed; see `ResourceOptions`. */
  resource<T>(load: () => Promise<T>, options?: ResourceOptions): Resource<T>;
  /** Calls `work` every `ms` milliseconds while the page is visible and connected. */
  every(ms: number, work: () => void): void;
}

/** An open view. */
export interface View {
  /** Draws it; called at each redraw, so it only builds templates. */
  render(): TemplateResult;
  /** The parameters of the address changed. */
  navigated?(params: URLSearchParams): void;
}

/** Default export of each module in `views/`. */
export type OpenView = (context: ViewContext) => View;

const MERGE_MS = 300;

export function createApp(connection: Connection, draw: () => void, defaultView: string): App & { arrived(): void } {
  let place = readPlace(defaultView);
  const redraw = inNextFrame(draw);
  const client = () => {
    const { client: open, state } = connection;
    if (open && state.kind === "connected") return open;
    throw new GatewayError("UNAVAILABLE", "not connected to the gateway");
  };
  connection.onState(redraw);
  const arrived = () => {
    place = readPlace(defaultView);
    queueMicrotask(draw); // not with the next frame: keys that people press before it belong to the new place
  };
  return {
    connection,
    get place() {
      return place;
    },
    call: async (method, params, options) => client().call(method, params, options),
    request: async (method, params, options) => client().request(method, params, options),
    serves: (method) =>
      connection.client?.hello.features.methods.includes(typeof method === "string" ? method : method.name) ?? false,
    may: (scope) => covers(connection.scopes, scope),
    redraw,
    go(view, params = {}, { replace = false } = {}) {
      history[replace ? "replaceState" : "pushState"](undefined, "", hrefOf(view, params));
      arrived();
    },
    arrived,
  };
}

/** As the gateway decides: admins may do everything, and `write` includes `read`. */
function covers(held: readonly string[], scope: Scope): boolean {
  const includes = scope === "operator.read" && held.includes("operator.write");
  return held.includes("operator.admin") || held.includes(scope) || includes;
}

/** @param signal aborts when people leave the view */
export function contextFor(app: App, signal: AbortSignal): ViewContext {
  const { connection } = app;
  const until = (stop: () => void) => signal.addEventListener("abort", stop, { once: true });
  const whenVisible = (ms: number, work: () => void) => {
    const timer = setInterval(() => !document.hidden && connection.state.kind === "connected" && work(), ms);
    until(() => clearInterval(timer));
  };
  const members: Omit<ViewContext, Exclude<keyof App, "go">> = {
    signal,
    go(...to) {
      if (!signal.aborted) app.go(...to); // e.g. a call that ends after people went elsewhere must not take them back
    },
    on: (event, listener) =>
      until(
        connection.onEvent((frame) => {
          if (frame.event === event.name) listener(frame.payload as never, frame); // typed by the event
        }),
      ),
    onFresh: (listener) => until(connection.onFresh(listener)),
    every: whenVisible,
    resource(load, { events = [], everyMs } = {}) {
      const resource = createResource(load, app.redraw, signal);
      const reload = () => void resource.reload();
      let planned: ReturnType<typeof setTimeout> | undefined;
      const names = new Set(events.map(({ name }) => name));
      until(
        connection.onEvent(({ event }) => {
          if (!names.has(event)) return;
          planned ??= setTimeout(() => {
            planned = undefined;
            if (!signal.aborted) reload();
          }, MERGE_MS);
        }),
      );
      until(connection.onFresh(reload));
      if (everyMs !== undefined) whenVisible(everyMs, reload);
      if (connection.state.kind === "connected") reload();
      return resource;
    },
  };
  // The app's members stay getters: the place changes.
  return Object.assign(Object.create(app) as App, members);
}
