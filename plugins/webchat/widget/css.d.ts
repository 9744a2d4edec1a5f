/** Style sheets are texts: `.ci/build.mjs`. */
declare module "*.css" {
  const text: string;
  export default text;
}
