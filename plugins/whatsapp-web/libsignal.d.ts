declare module "libsignal" {
  type Method = (this: unknown, ...args: unknown[]) => unknown;
  const signal: {
    readonly SessionRecord: {
      readonly prototype: Record<"closeSession" | "openSession" | "removeOldSessions", Method>;
    };
  };
  export default signal;
}
