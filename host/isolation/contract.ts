/** What the gateway and a plugin that runs elsewhere say to each other. */
import type {
  Audience,
  Deprecation,
  EventSpec,
  ExtensionPoint,
  HookCall,
  HookSpec,
  Method,
  Principal,
  RouteReply,
  RouteRequest,
  RouteSpec,
  Stop,
  TapOptions,
  TSchema,
} from "@svc/sdk";

/** A token without its type. */
export interface Token {
  readonly kind: "service";
  readonly id: string;
  readonly version: string;
  readonly remotable?: boolean;
  readonly deprecated?: Deprecation;
}

/** What a plugin is before its setup. */
export interface StaticPart {
  readonly id: string;
  readonly api: string;
  readonly version?: string;
  readonly config?: TSchema;
  readonly section?: string;
  readonly sections?: Readonly<Record<string, TSchema>>;
  readonly requires: Readonly<
    Record<string, { readonly kind: "service" | "optional" | "live"; readonly token: Token }>
  >;
  readonly provides: readonly Token[];
  readonly after: readonly string[];
}

/** The gateway, as the guest reaches it. */
export interface HostSide {
  call(method: string, params: unknown, principal: Principal | undefined): Promise<unknown>;
  /** @param event number of the declaration */
  emit(event: number, payload: unknown, audience: Audience | undefined): void;
  forward(event: EventSpec, payload: unknown, connections: readonly string[]): void;
  log(level: "debug" | "info" | "warn" | "error", fields: object, message: string): void;
  /** A failure of code nobody awaited. */
  charge(error: unknown, where: string): void;
}

/** What one setup gets. */
export interface SetupParts {
  readonly config: unknown;
  readonly sections: Readonly<Record<string, unknown>>;
  readonly stateDir: string;
  /** By the name the plugin uses; a live one is what it is now. */
  readonly services: Readonly<Record<string, unknown>>;
  readonly host: HostSide;
}

/** A method call without its getters. */
export interface CallParts {
  readonly params: unknown;
  readonly principal: Principal;
  readonly connection: unknown;
  readonly signal: AbortSignal;
  accept(payload: unknown): void;
}

/** What one setup declared. Functions may be asynchronous whatever they were declared as. */
export interface Recorded {
  readonly methods: readonly { readonly method: Method; handler(call: CallParts): unknown }[];
  readonly events: readonly EventSpec[];
  readonly routes: readonly (Omit<RouteSpec, "handler"> & {
    handler(request: RouteRequest<never>): Promise<RouteReply>;
  })[];
  readonly taps: readonly {
    readonly hook: HookSpec;
    readonly key: string | undefined;
    readonly options: TapOptions;
    handler(input: unknown, call: HookCall): Promise<unknown>;
  }[];
  readonly services: readonly { readonly token: Token; readonly value: unknown }[];
  readonly extensions: readonly {
    readonly point: ExtensionPoint<unknown>;
    readonly id: string;
    readonly value: unknown;
  }[];
  readonly starts: readonly (() => Promise<void | Stop>)[];
  readonly configHandler?: (config: unknown, sections: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly hasBusyChecks: boolean;
}

/** How a guest is. */
export interface Beat {
  /** Heap and buffers of its thread, or the resident memory of its process. bytes */
  readonly memoryBytes: number;
  readonly busy: boolean;
}

/** The guest, as the gateway reaches it. */
export interface GuestSide {
  describe(): Promise<StaticPart>;
  setup(parts: SetupParts): Promise<Recorded>;
  /** @param live services that are others now than they were, by name */
  beat(live: Readonly<Record<string, unknown>>): Promise<Beat>;
}

/** What a guest is started with. */
export interface GuestTask {
  readonly file: string;
  /** Private: what lies there is run. */
  readonly cacheDir: string;
}
