(* A certificate of dpest as the term that the verified checker decides about. What is out of scope
   or malformed is told apart from what the checker rejects. *)
open Extracted
open Numbers

(* --- symbols *)
type names = { data : (string * int) list; noises : (string * int) list; slots : (string * int) list;
               tokens : (string, int) Hashtbl.t }
let numbered keys = List.mapi (fun i key -> (key, i)) keys
let symbol names key =
  match List.assoc_opt key names.data with Some i -> D i | None ->
  match List.assoc_opt key names.noises with Some i -> H i | None ->
  match List.assoc_opt key names.slots with Some i -> V i | None -> raise (Invalid ("unknown symbol " ^ key))
let token names text =
  match Hashtbl.find_opt names.tokens text with
  | Some i -> i
  | None -> let i = Hashtbl.length names.tokens in Hashtbl.add names.tokens text i; i
let lin names ?(factor = fun q -> q) json =
  let parts = List.filter_map (fun (key, value) ->
      let q = rational value in if is_zero q then None else Some (key, q)) (Json.members json) in
  List.map (fun (key, q) -> (symbol names key, factor q)) (List.sort compare parts)
let form names constant json = { constant; terms = lin names json }
let decision names json =
  match Json.items json with
  | [Json.String "greatest"; values; chosen] ->
    let forms = List.map (fun v -> match Json.items v with
        | [c; t] -> form names (rational c) t | _ -> raise (Invalid "a value")) (Json.items values) in
    (Greatest forms, Json.integer chosen)
  | [c; t; strict] ->
    if Json.flag strict
    then (Sign { constant = qopp (rational c); terms = lin names ~factor:qopp t }, 0)
    else (Sign (form names (rational c) t), 1)
  | _ -> raise (Invalid "a decision")
let path names json = List.map (decision names) (Json.items json)
let values number json = List.sort compare (List.map (fun (key, v) -> (number key, rational v)) (Json.members json))
let number table key = match List.assoc_opt key table with Some i -> i | None -> raise (Invalid ("unknown " ^ key))

(* --- noise *)
let family = function
  | "laplace" -> Laplace | "exponential" -> Exponential | "gumbel" -> Gumbel
  | "logistic" -> Logistic | "cauchy" -> Cauchy
  | "discrete_laplace" | "two_sided_geometric" -> DiscreteLaplace | "geometric" -> Geometric
  | other -> raise (Unsupported (other ^ " noise"))
let is_discrete = function DiscreteLaplace | Geometric -> true | _ -> false
let noise_table c =
  let rows = List.map (fun (name, row) -> match Json.items row with
      | [f; scale] ->
        let f = family (Json.text f) and scale = rational scale in
        need (name <> "" && name.[0] = 'h' && not (qle_bool scale zero)) ("noise " ^ name);
        (name, (f, qred (qinv scale)))
      | _ -> raise (Invalid "a noise")) (Json.members (Json.get "noises" c)) in
  let kinds = List.sort_uniq compare (List.map (fun (_, (f, _)) -> is_discrete f) rows) in
  if List.length kinds > 1 then raise (Unsupported "continuous and discrete noise together");
  rows
let integral rows = List.exists (fun (_, (f, _)) -> is_discrete f) rows

let radius c = match Json.get "radius" (Json.get "adjacency" c) with
  | Json.String "inf" -> raise (Unsupported "neighbours without a radius")
  | r -> let r = rational r in need (not (qle_bool r zero)) "radius"; r
let adjacency c =
  let r = radius c in
  match Json.text (Json.get "name" (Json.get "adjacency" c)) with
  | "linf" -> Linf r | "monotone" -> Monotone r | "l1" -> L1 r | "replace_one" -> ReplaceOne r
  | other -> raise (Unsupported ("adjacency " ^ other))

(* --- loops *)
let same_set a b = List.sort_uniq compare a = List.sort_uniq compare b
let subset a b = List.for_all (fun x -> List.mem x b) a
let keys json = List.map fst (Json.members json)

let scope edge data slots =
  (* Symbols that an edge may speak of: its own noises, the slots of its node, the datum it reads. *)
  let noises = List.map Json.text (Json.items (Json.get "noise" edge)) in
  (if Json.flag (Json.get "reads" edge) then data else []) @ noises @ slots
let decision_keys json = match Json.items json with
  | [Json.String "greatest"; vs; _] -> List.concat_map (fun v -> keys (List.nth (Json.items v) 1)) (Json.items vs)
  | [_; t; _] -> keys t
  | _ -> raise (Invalid "a decision")

let leaf names count i edge =
  let reals = ref (Json.items (Json.get "real" edge)) in
  let next () = match !reals with r :: rest -> reals := rest; r | [] -> raise (Invalid "real") in
  let outs = List.map (function
      | Json.Null -> SNum (form names zero (next ()))
      | Json.String t -> STok (token names t)
      | _ -> raise (Invalid "release")) (Json.items (Json.get "release" edge)) in
  need (!reals = []) "real";
  let target = Json.integer (Json.get "to" edge) in
  need (target >= -1 && target < count) "an edge leads nowhere";
  { id = i; to0 = (if target = -1 then count else target); outs;
    sets = List.map (fun (slot, t) -> (number names.slots slot, form names zero t)) (Json.members (Json.get "set" edge)) }

(* With cases, a turn only adds to sums, and nothing else sees data. *)
let need_sums_only edge =
  let nothing key = Json.items (Json.get key edge) = [] in
  if Json.flag (Json.get "reads" edge) then begin
    need (nothing "if" && nothing "noise" && nothing "real" && nothing "release") "a turn does more than to add";
    need (Json.get "from" edge = Json.get "to" edge) "a turn does not only add";
    List.iter (fun (slot, t) ->
        let terms = Records.terms t in
        need (match List.assoc_opt slot terms with Some q -> qeq_bool q one | None -> false) "a turn does not only add";
        need (List.for_all (fun (k, _) -> k = slot || k.[0] = 't') terms) "a turn does not only add") (Json.members (Json.get "set" edge))
  end else
    let met = List.concat_map decision_keys (Json.items (Json.get "if" edge))
      @ List.concat_map keys (Json.items (Json.get "real" edge))
      @ List.concat_map (fun (_, t) -> keys t) (Json.members (Json.get "set" edge)) in
    need (List.for_all (fun k -> k <> "" && not (List.mem k.[0] ['q'; 'c'; 'i'; 't'])) met) "a turn: data elsewhere"

(* The cases cover all records, each in one way. *)
let need_all_cases c =
  let names = { data = numbered (List.map fst (Records.ranges c)); noises = []; slots = []; tokens = Hashtbl.create 1 } in
  let nowhere = { id = 0; to0 = 0; outs = []; sets = [] } in
  let branches = List.map (fun case -> (path names (Json.get "if" case), nowhere)) (Json.items (Json.get "cases" c)) in
  need (well_formed branches && complete branches) "cases: branches overlap, or one is missing"

type loops = Lists of adjacency * certificate | Added of bool * cert * int

let loop c =
  let summed = Json.find "cases" c <> None in
  let found = if summed then (need_all_cases c; Records.moves c) else [] in
  let rows = noise_table c in
  if summed && integral rows then raise (Unsupported "one move of integers in a loop");
  let nodes = List.sort compare (List.map (fun n -> (Json.integer (Json.get "id" n),
    List.map Json.text (Json.items (Json.get "slots" n)))) (Json.items (Json.get "nodes" c))) in
  let count = List.length nodes in
  need (List.mapi (fun i _ -> i) nodes = List.map fst nodes) "nodes";
  let slots = List.sort_uniq compare (List.concat_map snd nodes) in
  let added e = List.filter (fun k -> k <> "" && k.[0] = 't') (List.concat_map (fun (_, t) -> keys t) (Json.members (Json.get "set" e))) in
  let data = if summed
    then List.sort_uniq compare (List.concat_map (List.map fst) found @ List.concat_map added (Json.items (Json.get "edges" c)))
    else ["q"] in
  let names = { data = numbered data; noises = numbered (List.map fst rows); slots = numbered slots; tokens = Hashtbl.create 8 } in
  if summed then List.iter need_sums_only (Json.items (Json.get "edges" c));
  let edges = List.mapi (fun i e -> (i, e)) (Json.items (Json.get "edges" c)) in
  List.iter (fun (_, e) ->
      let from = Json.integer (Json.get "from" e) in
      need (from >= 0 && from < count) "an edge comes from nowhere";
      let known = scope e data (List.assoc from nodes) in
      let met = List.concat_map decision_keys (Json.items (Json.get "if" e))
        @ List.concat_map keys (Json.items (Json.get "real" e))
        @ List.concat_map (fun (_, t) -> keys t) (Json.members (Json.get "set" e)) in
      need (subset met known) "an edge speaks of something unknown") edges;
  let asks json = match Json.items json with
    | [Json.String "greatest"; vs; _] -> List.concat_map (fun v -> Records.terms (List.nth (Json.items v) 1)) (Json.items vs)
    | [_; t; _] -> Records.terms t
    | _ -> raise (Invalid "a decision") in
  let uses e = List.mem_assoc "q" (List.concat_map asks (Json.items (Json.get "if" e))
    @ List.concat_map Records.terms (Json.items (Json.get "real" e))
    @ List.concat_map (fun (_, t) -> Records.terms t) (Json.members (Json.get "set" e))) in
  if not summed && not (List.exists (fun (_, e) -> uses e) edges) then raise (Unsupported "a program that does not look at its data");
  let group node reads =
    match List.filter (fun (_, e) -> Json.integer (Json.get "from" e) = node && Json.flag (Json.get "reads" e) = reads) edges with
    | [] -> None
    | mine ->
      let drawn = List.concat_map (fun (_, e) -> List.map (fun h -> number names.noises (Json.text h)) (Json.items (Json.get "noise" e))) mine in
      Some { draws = List.sort_uniq compare drawn;
             branches = List.map (fun (i, e) -> (path names (Json.get "if" e), leaf names count i e)) mine } in
  let program = List.map (fun (n, _) -> Node (group n true, group n false)) nodes @ [Halt] in
  let adj = if summed then ReplaceOne one else adjacency c in
  let opp = qopp in
  let moves_of lo hi = if integral rows then integers_in lo hi else if qeq_bool lo hi then [lo] else [lo; hi] in
  let numbers l = List.map (fun m -> [(0, m)]) l in
  let moves = if summed then [List.map (List.map (fun (t, v) -> (number names.data t, v))) found] else match adj with
    | Linf r -> [numbers (moves_of (opp r) r)]
    | Monotone r -> [numbers (moves_of zero r); numbers (moves_of (opp r) zero)]
    | L1 r -> [numbers [r; opp r]]
    | ReplaceOne r -> [numbers [opp r; r]] in
  let one_moves = match adj with L1 _ | ReplaceOne _ -> true | _ -> false in
  if one_moves && integral rows then raise (Unsupported "one move of integers in a loop");
  let parts = Json.items (Json.get "components" c) in
  need (List.length parts = List.length moves) "components";
  let part json moves =
    let states = Json.items (Json.get "states" json) in
    let order = numbered (List.map (fun s -> string_of_int (Json.integer (Json.get "id" s))) states) in
    need (List.length (List.sort_uniq compare order) = List.length order) "states";
    let index key = number order (string_of_int (Json.integer key)) in
    let state s =
      let node = Json.integer (Json.get "node" s) in
      need (node >= -1 && node < count) "a state nowhere";
      { a_node = (if node = -1 then count else node); a_phase = Json.integer (Json.get "phase" s);
        a_budget = rational (Json.get "budget" s); a_diff = values (number names.slots) (Json.get "difference" s) } in
    let step s =
      let edge = Json.integer (Json.get "edge" s) in
      let noise = match List.assoc_opt edge edges with
        | Some e -> List.map Json.text (Json.items (Json.get "noise" e)) | None -> raise (Invalid "a step on no edge") in
      need (subset (keys (Json.get "shift" s)) noise) "a step shifts other noise";
      let move = Json.integer (Json.get "move" s) in
      { s_state = index (Json.get "state" s); s_edge = edge; s_move = (if move < 0 then None else Some move);
        s_next = index (Json.get "next" s); s_shift = values (number names.noises) (Json.get "shift" s) } in
    ({ c_prog = program; c_slots = List.map (fun (_, s) -> List.map (number names.slots) s) nodes @ [[]];
       c_noises = List.map snd rows; c_one = one_moves; c_moves = moves;
       c_states = List.map state states; c_steps = List.rev_map step (Json.items (Json.get "steps" json)) },
     index (Json.get "start" json)) in
  let endless = Json.get "length" c = Json.String "any" in
  match List.map2 part parts moves with
  | [(cert, start)] when summed -> Added (endless, cert, start)
  | found -> Lists (adj, LoopOf (endless, found))

(* --- fixed lengths and selection *)
let affine names json = match Json.items json with
  | [c; t] -> (rational c, values (number names.data) t)
  | _ -> raise (Invalid "a shift")
let shifts names json = List.sort compare (List.map (fun (h, a) -> (number names.noises h, affine names a)) (Json.members json))
let box names json = List.sort compare (List.map (fun (k, e) -> match Json.items e with
    | [a; b] -> (number names.data k, (rational a, rational b)) | _ -> raise (Invalid "a face")) (Json.members json))
let plan names leaf json =
  { p_leaf = leaf; p_component = Json.integer (Json.get "component" json); p_face = box names (Json.get "face" json);
    p_shift = shifts names (Json.get "shift" json); p_bound = shifts names (Json.get "bound" json) }

(* The leaves of a tree of decisions, each with the answers on its way. *)
let branches names c =
  let ways = Hashtbl.create 64 in
  let inner = Hashtbl.create 64 in
  let leaves = Json.items (Json.get "leaves" c) in
  let leaf_ids = List.map (fun l -> Json.integer (Json.get "node" l)) leaves in
  need (leaf_ids <> [] && List.length (List.sort_uniq compare leaf_ids) = List.length leaf_ids) "leaves";
  List.iteri (fun i node ->
      let id = Json.integer (Json.get "id" node) in
      need (not (Hashtbl.mem ways id)) "nodes";
      match Json.items (Json.get "in" node) with
      | [] -> need (i = 0) "nodes"; Hashtbl.add ways id ([], [])
      | [edge] ->
        let from = Json.integer (Json.get "from" edge) in
        need (Hashtbl.mem ways from && not (List.mem from leaf_ids)) "out of order";
        Hashtbl.replace inner from ();
        let before, drawn = Hashtbl.find ways from in
        let fresh = List.map Json.text (Json.items (Json.get "noise" edge)) in
        need (List.for_all (fun h -> List.mem_assoc h names.noises && not (List.mem h drawn)) fresh
              && List.length (List.sort_uniq compare fresh) = List.length fresh) "a noise is drawn twice, or unknown";
        Hashtbl.add ways id (before @ Json.items (Json.get "if" edge), drawn @ fresh)
      | _ -> raise (Unsupported "states that were merged")) (Json.items (Json.get "nodes" c));
  Hashtbl.iter (fun id _ -> need (List.mem id leaf_ids <> Hashtbl.mem inner id) "neither a leaf nor inside") ways;
  let branch json =
    let id = Json.integer (Json.get "node" json) in
    let decisions, drawn = (try Hashtbl.find ways id with Not_found -> raise (Invalid "leaves")) in
    let reals = Json.items (Json.get "real" json) in
    let met = List.concat_map decision_keys decisions @ List.concat_map keys reals in
    need (List.for_all (fun k -> not (List.mem_assoc k names.noises) || List.mem k drawn) met) "a noise that was not drawn";
    (List.map (decision names) decisions,
     { id; to0 = 0; sets = [];
       outs = STok (token names (Json.text (Json.get "release" json))) :: List.map (fun t -> SNum (form names zero t)) reals }) in
  List.map branch leaves

let cells c =
  let rows = noise_table c in
  let n = Json.integer (Json.get "length" c) in
  if integral rows && Json.get "kind" (Json.get "domain" c) <> Json.String "integers" then raise (Invalid "integers");
  let names = { data = List.init n (fun j -> ("q" ^ string_of_int j, j)); noises = numbered (List.map fst rows);
                slots = []; tokens = Hashtbl.create 8 } in
  let adj = adjacency c in
  let plans = List.map (fun a -> plan names (Json.integer (Json.get "leaf" a)) a) (Json.items (Json.get "alignments" c)) in
  (adj, CellsOf (n, { k_noises = List.map snd rows; k_draws = List.mapi (fun i _ -> i) rows;
                      k_branches = branches names c; k_components = components_of adj n; k_plans = plans }))

(* Gaussian noise: rates are 1 / (2 variance). *)
let square c =
  let rows = List.map (fun (name, row) -> match Json.items row with
      | [Json.String ("gaussian" | "discrete_gaussian" as f); v] ->
        let v = rational v in
        need (name <> "" && name.[0] = 'h' && less zero v) ("noise " ^ name);
        (name, (f = "discrete_gaussian", qred (qinv (add v v))))
      | [_; _] -> raise (Unsupported "other noise beside Gaussian noise")
      | _ -> raise (Invalid "a noise")) (Json.members (Json.get "noises" c)) in
  let kinds = List.sort_uniq compare (List.map (fun (_, (d, _)) -> d) rows) in
  let discrete = match kinds with [d] -> d | _ -> raise (Unsupported "continuous and discrete noise together") in
  let n = Json.integer (Json.get "length" c) in
  let names = { data = List.init n (fun j -> ("q" ^ string_of_int j, j)); noises = numbered (List.map fst rows);
                slots = []; tokens = Hashtbl.create 8 } in
  let power = Json.integer (Json.get "power" c) in
  need (power >= -8 && power <= 8 && (power = 0 || Json.get "unit" c <> Json.Null)) "power";
  need (Json.items (Json.get "alignments" c) = []) "alignments";
  let adj = adjacency c in
  let moved = List.sort compare (List.map (fun (h, t) -> (number names.noises h, values (number names.data) t)) (Json.members (Json.get "common" c))) in
  if discrete then begin
    let still = List.for_all (fun (_, t) -> List.for_all (fun (_, v) -> is_zero v) t) moved in
    if still then raise (Unsupported "discrete noise that is not moved");
    need (Json.get "kind" (Json.get "domain" c) = Json.String "integers") "integers";
    match adj with L1 r | ReplaceOne r when not (qeq_bool r one) -> raise (Unsupported "integers by other steps than one") | _ -> ()
  end;
  (adj, n, { g_discrete = discrete; g_rates = List.map (fun (_, (_, r)) -> r) rows; g_draws = List.mapi (fun i _ -> i) rows;
             g_branches = branches names c; g_components = components_of adj n; g_shift = moved })

let selection epsilon c =
  let rows = noise_table c in
  let gap = Json.flag (Json.get "gap" c) in
  let element = List.filter (fun (_, q) -> not (is_zero q)) (List.map (fun (k, v) -> (k, rational v)) (Json.members (Json.get "element" c))) in
  match rows, Json.get "length" c with
  | [(h, row)], Json.String "any" ->
    if integral rows then raise (Invalid "ties matter");
    if List.sort compare (List.map fst element) <> List.sort compare ["q"; h] then raise (Unsupported "other values than a*q + b*h");
    let families = match Json.find "rule" c, fst row with
      | (None | Some Json.Null), _ -> true
      | Some (Json.String "race"), Exponential -> true
      | Some (Json.String ("choice" | "inversion" | "rejection")), Gumbel -> true
      | _ -> false in
    need families "rule";
    let names = { data = [("q", 0); ("m", 1)]; noises = [(h, 0)]; slots = []; tokens = Hashtbl.create 1 } in
    let plans = List.map (plan names 0) (Json.items (Json.get "alignments" c)) in
    let adj = adjacency c and a = List.assoc "q" element and b = List.assoc h element in
    if gap then match row with
      | Laplace, rate -> accepts_gap adj rate a b plans epsilon
      | _ -> raise (Unsupported "a released gap of other noise than Laplace")
    else accepts adj (SelectionOf (row, a, b, plans)) epsilon
  | _ -> raise (Unsupported "several noises a value")

(* --- composition: parts that are accepted one by one, and the calls on each way *)
let same_neighbours a b =
  let near c = Json.get "adjacency" c in
  Json.get "name" (near a) = Json.get "name" (near b) && qeq_bool (radius a) (radius b)
let rec power q n = if n < 0 then power (qinv q) (- n) else if n = 0 then one else mul q (power q (n - 1))
let has_gaussian_noise part = List.exists (fun (_, row) -> match Json.items row with
    | Json.String ("gaussian" | "discrete_gaussian") :: _ -> true | _ -> false) (Json.members (Json.get "noises" part))
let is_gaussian part = match Json.text (Json.get "method" part) with
  | "square" -> true
  | "loop" when has_gaussian_noise part -> raise (Unsupported "loops with Gaussian noise")
  | "loop" when Json.find "cases" part = None -> false
  | "cells" | "selection" -> false
  | other -> raise (Unsupported ("parts by " ^ other))
let calls c =
  if Json.get "unit" c = Json.Null then raise (Unsupported "parts without a unit");
  let parts = Json.items (Json.get "parts" c) in
  need (parts <> []) "parts: none";
  let gaussian = List.exists is_gaussian parts in
  let exponent = if gaussian then Json.integer (Json.get "power" c) else (need (Json.find "power" c = None) "power"; 1) in
  need (exponent >= -8 && exponent <= 8) "power";
  List.iter (fun part ->
      need (Json.get "unit" part <> Json.Null) "parts: with and without a unit";
      need (same_neighbours c part) "parts: proved for other neighbours";
      let length = Json.get "length" part in
      need (length = Json.String "any" || length = Json.get "length" c) "length: a part is not proved for it";
      if is_gaussian part then need (Json.integer (Json.get "power" part) = exponent) "parts: another power of the unit"
      else if gaussian then raise (Unsupported "bounds on epsilon among bounds on rho")) parts;
  let call json = match Json.items json with
    | [place; scale] ->
      let i = Json.integer place and scale = rational scale in
      need (i >= 0 && i < List.length parts) "a call of an unknown part";
      need (less zero scale) "a scale is not positive";
      (i, power scale exponent)
    | _ -> raise (Invalid "paths") in
  let ways = List.map (fun way -> List.map call (Json.items way)) (Json.items (Json.get "paths" c)) in
  need (ways <> []) "paths: none";
  (parts, ways)

(* The one question that the certificate comes down to, put to the verified checker. *)
let rec accepted c =
  need (Json.get "format" c = Json.String "dpest-certificate/1") "format";
  (match Json.find "derived" c with Some (Json.Object (_ :: _)) -> raise (Unsupported "derived data") | _ -> ());
  (match Json.find "dead" c with Some (Json.Array (_ :: _)) -> raise (Unsupported "branches that are never taken") | _ -> ());
  let epsilon () = rational (Json.get "epsilon" c) in
  let decide (adj, cert) = accepts adj cert (epsilon ()) in
  match Json.text (Json.get "method" c) with
  | "loop" -> (match loop c with
      | Lists (adj, cert) -> decide (adj, cert)
      | Added (endless, cert, start) -> accepts_sums endless cert start (epsilon ()))
  | "cells" -> decide (cells c)
  | "selection" -> selection (epsilon ()) c
  | "finite" -> Tables.accepted c
  | "square" -> let adj, n, k = square c in accepts_square adj n k (epsilon ())
  | "contributions" -> Stages.accepted c
  | "composition" ->
    let parts, ways = calls c in
    let costs = List.map (fun part -> rational (Json.get "epsilon" part)) parts in
    List.for_all accepted parts && accepts_calls costs ways (epsilon ())
  | other -> raise (Unsupported ("certificates by " ^ other))
