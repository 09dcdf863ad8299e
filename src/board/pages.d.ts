/** A page, which the build turns into one HTML file with its style and script. */
declare module '*.html' {
  const html: string;
  export default html;
}
