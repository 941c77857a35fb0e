(* Sums over records: what one record may add, case by case, and so what the sums of neighbours may
   differ by. This is the reader's part: the verified checker takes the moves as they are found. *)
open Extracted
open Numbers

type ends = q option * q option (* None: no end on this side *)
type condition = { constant : q; terms : (string * q) list; strict : bool }

let terms json =
  List.filter (fun (_, v) -> not (is_zero v)) (List.map (fun (k, v) -> (k, rational v)) (Json.members json))
let sorted = List.sort compare
let end_of = function
  | Json.String ("inf" | "-inf") -> None
  | value -> Some (rational value)
let interval json = match Json.items json with [a; b] -> (end_of a, end_of b) | _ -> raise (Invalid "domain.range")

let condition json = match Json.items json with
  | [Json.String "greatest"; _; _] -> raise (Unsupported "cases by the greatest of values")
  | [c; t; strict] -> { constant = rational c; terms = sorted (terms t); strict = Json.flag strict }
  | _ -> raise (Invalid "a condition")

(* --- where a record may be *)
let least_of a b = match a, b with None, x | x, None -> x | Some a, Some b -> Some (if qle_bool a b then a else b)
let greatest_of a b = match a, b with None, x | x, None -> x | Some a, Some b -> Some (if qle_bool a b then b else a)
let cut box c = match c.terms with
  | [(symbol, slope)] ->
    let low, high = (try List.assoc symbol box with Not_found -> raise (Invalid "cases: unknown data")) in
    let at = Some (mul (qopp c.constant) (qred (qinv slope))) in
    let range = if less zero slope then (greatest_of low at, high) else (low, least_of high at) in
    List.map (fun (s, r) -> if s = symbol then (s, range) else (s, r)) box
  | _ -> box
let empty_range = function Some a, Some b -> less b a | _ -> false
let within (symbol, (low, high)) =
  (match low with Some a -> [{ constant = qopp a; terms = [(symbol, one)]; strict = false }] | None -> []) @
  (match high with Some b -> [{ constant = b; terms = [(symbol, qopp one)]; strict = false }] | None -> [])

(* Weights under which the conditions add up to a contradiction. *)
let need_empty conditions weights =
  let weight (place, w) =
    need (place <> "" && String.length place < 9 && is_digits place) "a weight";
    let w = rational w and i = int_of_string place in
    need (qle_bool zero w && i < List.length conditions) "a weight";
    (w, List.nth conditions i) in
  let used = List.filter (fun (w, _) -> not (is_zero w)) (List.map weight (Json.members weights)) in
  let constant = sum (List.map (fun (w, c) -> mul w c.constant) used) in
  let symbols = List.sort_uniq compare (List.concat_map (fun (_, c) -> List.map fst c.terms) used) in
  let slope s = sum (List.concat_map (fun (w, c) -> List.map (fun (k, v) -> if k = s then mul w v else zero) c.terms) used) in
  let strict = List.exists (fun (_, c) -> c.strict) used in
  need (List.for_all (fun s -> is_zero (slope s)) symbols && (less constant zero || (is_zero constant && strict)))
    "a case: the weights don't add up to a contradiction"

(* --- what a record adds at the corners of its cases *)
let rec product = function
  | [] -> [[]]
  | ends :: rest -> List.concat_map (fun e -> List.map (fun c -> e :: c) (product rest)) ends
let distinct l = List.rev (List.fold_left (fun seen x -> if List.mem x seen then seen else x :: seen) [] l)

let corners ranges case =
  let conditions = List.map condition (Json.items (Json.get "if" case)) in
  need (List.for_all (fun c -> List.for_all (fun (s, _) -> List.mem_assoc s ranges) c.terms) conditions) "cases: unknown data";
  match Json.find "empty" case with
  | Some weights -> need_empty (List.concat_map within ranges @ conditions) weights; []
  | None ->
    let adds = List.map (fun (t, v) -> match Json.items v with
        | [c; form] -> need (t <> "" && t.[0] = 't') "a sum is called t"; (t, (rational c, terms form))
        | _ -> raise (Invalid "a case")) (Json.members (Json.get "value" case)) in
    let used = List.sort_uniq compare (List.concat_map (fun (_, (_, form)) -> List.map fst form) adds) in
    need (List.for_all (fun s -> List.mem_assoc s ranges) used) "cases: unknown data";
    let box = List.fold_left cut ranges conditions in
    if List.exists (fun (_, r) -> empty_range r) box then []
    else
      let ends = List.map (fun s -> match List.assoc s box with
          | Some a, Some b -> [a; b] | _ -> raise (Invalid "cases: a record adds anything")) used in
      List.map (fun corner ->
          let at = List.combine used corner in
          let value (c, form) = sum (c :: List.map (fun (k, v) -> mul v (List.assoc k at)) form) in
          sorted (List.filter (fun (_, v) -> not (is_zero v)) (List.map (fun (t, a) -> (t, value a)) adds))) (product ends)

let difference before after =
  let symbols = List.sort_uniq compare (List.map fst (before @ after)) in
  let at l s = try List.assoc s l with Not_found -> zero in
  List.filter (fun (_, v) -> not (is_zero v)) (List.map (fun s -> (s, add (at after s) (qopp (at before s)))) symbols)

(* --- the ranges that the adjacency and the domain allow *)
let ranges c =
  let domain = Json.get "domain" c and adjacency = Json.get "adjacency" c in
  let listed json = List.map interval (Json.items json) in
  let given = match Json.find "range" domain with
    | Some (Json.Array (_ :: _) as r) -> listed r | _ -> raise (Invalid "domain.range: missing") in
  List.iter (fun r -> need (not (empty_range r)) "domain.range: no interval") given;
  let radius = end_of (Json.get "radius" adjacency) in
  need (match radius with Some r -> less zero r | None -> true) "adjacency.radius";
  let declared = match Json.find "declared" domain with None -> None | Some d -> Some (listed d) in
  (match Json.text (Json.get "name" adjacency) with
   | "add_remove_one" ->
     let bounds = if radius = None then given else List.map (fun _ -> (None, None)) given in
     let stated = match declared with Some d -> d | None -> bounds in
     let low r = greatest_of r (Option.map qopp radius) and high r = least_of r radius in
     need (given = List.map (fun (a, b) -> (low a, high b)) stated) "domain.range: not what the radius allows"
   | "replace_one" ->
     need (declared = None) "domain.declared";
     if radius <> None then raise (Unsupported "records that are replaced within a radius")
   | other -> raise (Unsupported ("sums and adjacency " ^ other)));
  List.mapi (fun i r -> ((if i = 0 then "q" else "q_" ^ string_of_int i), r)) given

let moves c =
  (match Json.items (Json.get "statistics" c), Json.integer (Json.get "steps" c) with
   | [], 1 -> ()
   | [], 2 -> raise (Unsupported "a replacement in two steps")
   | [], _ -> raise (Invalid "steps")
   | _ -> raise (Unsupported "order statistics"));
  let ranges = ranges c in
  let points = distinct (List.concat_map (corners ranges) (Json.items (Json.get "cases" c))) in
  let found =
    if Json.text (Json.get "name" (Json.get "adjacency" c)) = "replace_one"
    then List.concat_map (fun before -> List.map (difference before) points) points
    else points @ List.map (List.map (fun (t, v) -> (t, qopp v))) points in
  need (found <> []) "no moves";
  distinct found
