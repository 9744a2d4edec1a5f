/** What running plugins have declared, looked up at each use. Changes only in `commit` and by the undo it returns. */
import {
  type Contribution,
  type ExtensionPoint,
  type ExtensionView,
  HOOKS,
  isGatewayError,
  type ServiceToken,
} from "@svc/sdk";
import type { HookBus } from "../hooks/hook-bus.ts";
import type { Owner } from "../hooks/owner.ts";
import type { Declarations, EventEntry, ExtensionEntry, MethodEntry, RouteEntry } from "./declarations.ts";
import { type Manifest, servesMethod } from "./manifest.ts";

interface ProvidedService {
  readonly token: ServiceToken<unknown>;
  readonly value: unknown;
  /** Plugin id, or `host`. */
  readonly provider: string;
}

/** A contribution, and who answers for it. */
export interface OwnedContribution<T> {
  readonly id: string;
  readonly value: T;
  readonly owner: Owner;
}

export class Registry {
  readonly methods = new Map<string, MethodEntry>();
  readonly events = new Map<string, EventEntry>();
  readonly #routes = new Set<RouteEntry>();
  readonly #services = new Map<string, ProvidedService>();
  readonly #points = new Map<string, Owner>();
  /** Extension points of the host itself. */
  readonly #hostPoints = new Set<string>();
  readonly #emitters = new Map<string, string>();
  #extensions: readonly ExtensionEntry[] = [];
  /** Each handshake asks for it; forgotten at every change. */
  #advertised: string[] | undefined;
  readonly #hooks: HookBus;
  /** Grows with every change of the routes, so that a router built from them knows it is old. */
  routesVersion = 0;
  /** The same for contributions to extension points. */
  extensionsVersion = 0;

  constructor(hooks: HookBus) {
    this.#hooks = hooks;
  }

  /** What clients are told they can call. */
  advertisedMethods(): string[] {
    this.#advertised ??= [...this.methods.values()]
      .filter(({ method }) => method.advertised !== false)
      .map(({ method }) => method.name);
    return this.#advertised;
  }

  routes(): readonly RouteEntry[] {
    return [...this.#routes];
  }

  service(id: string): unknown {
    return this.#services.get(id)?.value;
  }

  /** Who provides a service now: a plugin id, or `host`. */
  providerOf(id: string): string | undefined {
    return this.#services.get(id)?.provider;
  }

  services(): ServiceToken<unknown>[] {
    return [...this.#services.values()].map(({ token }) => token);
  }

  /** Gives a service of the host itself. */
  provide<T>(token: ServiceToken<T>, value: T): void {
    this.#services.set(token.id, { token, value, provider: "host" });
  }

  /** Takes an extension point for the host itself. */
  own<T>(point: ExtensionPoint<T>): void {
    this.#hostPoints.add(point.id);
  }

  /** Contributions to a point, in plugin order, with who answers for each. */
  contributions<T>(point: ExtensionPoint<T>): readonly OwnedContribution<T>[] {
    return this.#extensions
      .filter((entry) => entry.point === point.id)
      .map(({ id, value, owner }) => ({ id, value: value as T, owner })); // typed by the point
  }

  /** Why these declarations cannot be committed beside what stands, or `undefined`. Names both sides. */
  conflict(staged: Declarations, manifest: Manifest | undefined): string | undefined {
    const { plugin } = staged;
    for (const { method } of staged.methods) {
      const other = this.methods.get(method.name);
      if (other && other.owner.id !== plugin.id) return `method ${method.name} is already served by ${other.owner.id}`;
      if (manifest?.directory && !servesMethod(manifest, method.name)) {
        return `it serves ${method.name}, which its package.json does not list under "svc.namespaces"`;
      }
    }
    for (const { event } of staged.events) {
      const other = this.events.get(event.name);
      if (other && other.owner.id !== plugin.id) return `event ${event.name} is already declared by ${other.owner.id}`;
    }
    for (const { route } of staged.routes) {
      const prefixes = [`/plugins/${plugin.id}/`, ...(manifest?.routes ?? [])];
      if (!prefixes.some((prefix) => route.path.startsWith(prefix))) {
        return `route ${route.path} lies outside ${prefixes.join(", ")}; list its prefix in package.json under "svc.routes"`;
      }
      if (route.auth === "gateway" && route.scope === undefined)
        return `route ${route.path} has auth "gateway" and no scope`;
      const other = this.routes().find(({ route: { method, path } }) => method === route.method && path === route.path);
      if (other && other.owner.id !== plugin.id)
        return `route ${route.method} ${route.path} is already mounted by ${other.owner.id}`;
    }
    for (const { token } of staged.services) {
      const other = this.#services.get(token.id);
      if (other && other.provider !== plugin.id) return `service ${token.id} is already provided by ${other.provider}`;
    }
    for (const { id } of staged.ownedPoints) {
      if (this.#hostPoints.has(id)) return `extension point ${id} is owned by the host`;
      const other = this.#points.get(id);
      if (other && other.id !== plugin.id) return `extension point ${id} is already owned by ${other.id}`;
    }
    for (const { point, id } of staged.extensions) {
      const other = this.#extensions.find((entry) => entry.point === point && entry.id === id);
      if (other && other.owner.id !== plugin.id) return `${point} "${id}" is already contributed by ${other.owner.id}`;
    }
    for (const { spec, key } of staged.taps) {
      const gate = key === undefined ? spec.name : `${spec.name}:${key}`;
      if (spec.kind === "gate" && manifest?.directory && !manifest.gates?.includes(gate)) {
        return `it taps the gate ${gate}, which its package.json does not list under "svc.gates"`;
      }
    }
    for (const hook of staged.emittedHooks) {
      if (hook.owner !== plugin.id) return `hook ${hook.name} belongs to ${hook.owner}, only that plugin may emit it`;
    }
    return undefined;
  }

  /** Makes everything visible in one synchronous step. @returns takes all of it back, newest first; safe to call twice. */
  commit(staged: Declarations): () => void {
    const undo: (() => void)[] = [() => (this.#advertised = undefined)];
    this.#advertised = undefined;
    for (const { token, value } of staged.services) {
      this.#services.set(token.id, { token, value, provider: staged.owner.id });
      undo.push(() => this.#services.delete(token.id));
    }
    for (const { id } of staged.ownedPoints) {
      this.#points.set(id, staged.owner);
      undo.push(() => this.#points.delete(id));
    }
    for (const { name } of staged.emittedHooks) {
      this.#emitters.set(name, staged.owner.id);
      undo.push(() => this.#emitters.delete(name));
    }
    for (const { spec, key, options, handler } of staged.taps) {
      undo.push(this.#hooks.tap(spec, key, staged.owner, options, handler));
    }
    for (const entry of staged.events) {
      this.events.set(entry.event.name, entry);
      undo.push(() => this.events.delete(entry.event.name));
    }
    for (const entry of staged.methods) {
      this.methods.set(entry.method.name, entry);
      undo.push(() => this.methods.delete(entry.method.name));
    }
    this.#mount(staged.routes, undo);
    const added = staged.extensions;
    if (added.length > 0) {
      this.#extend([...this.#extensions, ...added].sort((left, right) => left.owner.order - right.owner.order));
      undo.push(() => this.#extend(this.#extensions.filter((entry) => !added.includes(entry))));
    }
    return () => {
      for (const step of undo.splice(0).reverse()) step();
    };
  }

  #extend(extensions: readonly ExtensionEntry[]): void {
    this.#extensions = extensions;
    this.extensionsVersion++;
  }

  #mount(routes: readonly RouteEntry[], undo: (() => void)[]): void {
    if (routes.length === 0) return;
    for (const entry of routes) this.#routes.add(entry);
    this.routesVersion++;
    undo.push(() => {
      for (const entry of routes) this.#routes.delete(entry);
      this.routesVersion++;
    });
  }

  /** The owner's view of an extension point. */
  view<T>(point: string): ExtensionView<T> {
    const list = (): readonly (Contribution<T> & { readonly owner: Owner })[] =>
      this.#extensions
        .filter((entry) => entry.point === point)
        .map(({ id, value, owner }) => ({ id, plugin: owner.id, value: value as T, owner })); // typed by the point's token
    return {
      list,
      get: (id) => list().find((contribution) => contribution.id === id),
      call: (contribution, work) => {
        const owner = list().find(({ id }) => id === contribution.id)?.owner;
        if (!owner) return work(contribution.value);
        const charge = (error: unknown) => {
          if (!isGatewayError(error)) owner.charge(error, `${point} ${contribution.id}`);
        };
        try {
          const result = owner.run(() => work(contribution.value));
          if (result instanceof Promise) result.catch(charge); // the caller still gets the rejection
          return result;
        } catch (error) {
          charge(error);
          throw error;
        }
      },
    };
  }

  /** What these declarations leave without effect now, for reports. */
  inert(staged: Declarations): string[] {
    const contributions = staged.extensions
      .filter(({ point }) => !this.#points.has(point) && !this.#hostPoints.has(point))
      .map(({ point, id }) => `${point} "${id}": no plugin owns this extension point`);
    const known = new Set(
      Object.values(HOOKS)
        .filter(({ owner }) => owner === "host")
        .map(({ name }) => name),
    );
    const taps = staged.taps
      .filter(({ spec }) => !known.has(spec.name) && !this.#emitters.has(spec.name))
      .map(({ spec }) => `hook ${spec.name}: no running plugin emits it`);
    return [...new Set([...contributions, ...taps])];
  }
}
